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
  /// By path:
  ///   "/"                  the page
  ///   "/answer?node=..."   {"command", "status", "message", "result"}: what this command prints with --json --brief
  ///   "/plan", "/machines", "/fabrics"   the same with --json, for a search of layouts and two comparisons
  ///   "/report?node=..."   the page that the command writes with --html, to save; "/details": the same, to show
  LocalReply reply(const LocalRequest& request, RunWatch& watch);

  /// Paths whose replies take long: for LocalServer.
  static std::vector<std::string> long_paths();

 private:
  KeptMachines machines_;
};

}  // namespace busbar
