// The replies of `busbar explore`.
#pragma once

#include <string>
#include <vector>

#include "busbar/cli/explore_server.h"
#include "busbar/cli/kept_machines.h"

namespace busbar {

/// The replies of one server, and what they share.
class ExploreAnswers {
 public:
  /// "/": the page. "/answer?node=...": {"command", "status", "message", "result"}, the result being what this command
  /// prints with --json --brief, or null; "/plan", "/machines" and "/fabrics": the same with --json for a search of
  /// layouts and two comparisons. "/report?node=...": the page that it writes with --html, to be saved; "/details":
  /// the same, to be shown.
  LocalReply reply(const LocalRequest& request, RunWatch& watch);

  /// Paths whose replies take long: for LocalServer.
  static std::vector<std::string> long_paths();

 private:
  KeptMachines machines_;
};

}  // namespace busbar
