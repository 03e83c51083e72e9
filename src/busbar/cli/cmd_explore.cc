#include <fmt/core.h>

#include <memory>

#include "busbar/base/json.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/explore_answer.h"
#include "busbar/cli/explore_server.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/streams.h"
#include "busbar/cli/terminal_end.h"
#include "busbar/spec/catalog.h"

namespace busbar {
namespace {

struct ExploreFlags {
  std::uint32_t port = 0;
  bool json = false;
};

Result<int> run(const ExploreFlags& o) {
  constexpr std::uint32_t kLastPort = 65535;
  if (o.port > kLastPort)
    return flag_error("--port", fmt::format("{} is no port; use 1 to {}, or 0 for any free one", o.port, kLastPort));
  BUSBAR_RETURN_IF_ERROR(Catalog().check());
  const LongRun watch("answers");  // Ctrl-C ends the wait below and the steps that are being computed
  ExploreAnswers answers;
  const auto reply = [&](const LocalRequest& request, RunWatch& run) { return answers.reply(request, run); };
  BUSBAR_ASSIGN(const std::unique_ptr<LocalServer> server,
                LocalServer::open(o.port, reply, ExploreAnswers::long_paths()));
  const std::string address = server->address();
  const Json j{{"schema", "busbar.explore/1"}, {"address", address}, {"port", server->port()}};
  const int status = print_out(
      o.json ? j.dump() + "\n"
             : fmt::format("Open {}\nOnly this machine, and only with this address, reaches it. Ctrl-C ends it.\n",
                           address));
  for (TerminalEnd terminal; status == 0 && !watch.interrupted() && !terminal.ended();) terminal.wait_ms(100);
  return status;
}

}  // namespace

Command explore_command(const std::string& typed) {
  static_cast<void>(typed);  // prints no page of its own
  const auto o = std::make_shared<ExploreFlags>();
  Command c;
  c.name = "explore";
  c.summary = "a page in the browser whose lists and sliders change a training step and show the answer at once";
  c.examples =
      "  busbar explore\n"
      "  busbar explore --port 8080       # from a laptop: ssh -L 8080:127.0.0.1:8080 HOST\n";
  c.flags = {
      {"--port", "N", "port on 127.0.0.1 (default: any free one)", "Server", &o->port},
      {"--json", "", "print the address as one JSON object on stdout", "Output", &o->json},
  };
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
