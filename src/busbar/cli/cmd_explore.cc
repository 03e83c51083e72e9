#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/explore_fields.h"
#include "busbar/cli/explore_page.h"
#include "busbar/cli/explore_server.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/streams.h"
#include "busbar/lines/ask_line.h"
#include "busbar/report/document.h"
#include "busbar/spec/catalog.h"
#include "busbar/step/kept_machines.h"
#include "busbar/views/view.h"

namespace busbar::cli {
namespace {

/// Watches standard input if it is a terminal, a pipe or a socket; otherwise (/dev/null, a file) it never ends. Drops
/// what is typed. In the background of a terminal it reads nothing.
class TerminalEnd {
 public:
  TerminalEnd();
  /// Returns after `ms`, or earlier when there is something to read or a signal has come.
  void wait_ms(int ms);
  bool ended() const { return ended_; }

 private:
  bool watched_ = false, ended_ = false;
};

TerminalEnd::TerminalEnd() {
  struct stat input {};
  watched_ = isatty(STDIN_FILENO) != 0 ||
             (fstat(STDIN_FILENO, &input) == 0 && (S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode)));
}

void TerminalEnd::wait_ms(int ms) {
  const bool background = isatty(STDIN_FILENO) != 0 && tcgetpgrp(STDIN_FILENO) != getpgrp();
  pollfd input{STDIN_FILENO, static_cast<short>(background ? 0 : POLLIN), 0};  // 0: only whether the terminal has gone
  if (poll(&input, watched_ ? 1 : 0, ms) <= 0) return;
  std::array<char, 256> dropped{};
  ended_ = (input.revents & POLLIN) == 0 || read(STDIN_FILENO, dropped.data(), dropped.size()) <= 0;
}

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
  LocalReply reply_of(const LocalRequest& request, RunWatch& watch);

  step::KeptMachines machines_;
};

constexpr const char* kPlainType = "text/plain; charset=utf-8";
constexpr const char* kPageType = "text/html; charset=utf-8";

constexpr std::pair<const char*, ExploreAsk> kAnswers[] = {{"/answer", ExploreAsk::kStep},
                                                           {"/plan", ExploreAsk::kPlan},
                                                           {"/machines", ExploreAsk::kMachines},
                                                           {"/fabrics", ExploreAsk::kFabrics}};

/// The answer of `words` for the page; `machines` stay ready.
lines::AskedLine ask_for_page(const std::vector<std::string>& words, RunWatch& watch, step::KeptMachines& machines) {
  questions::Context context;
  context.kept = &machines;
  context.stop = watch.flag();
  context.progress = [&watch](const Progress& p) {
    if (p.total != 0 || p.so_far) watch.report(p.what, p.done, p.total != 0 ? p.total : p.done + 1);
  };
  lines::AskedLine asked = lines::ask_line(words, std::move(context));
  constexpr std::string_view kHead = "busbar: ";
  if (asked.message.starts_with(kHead)) asked.message.erase(0, kHead.size());
  return asked;
}

LocalReply json_reply(const std::string& command, const lines::AskedLine& asked) {
  const Json body{{"command", command},
                  {"status", asked.status},
                  {"message", asked.message},
                  {"result", asked.answer ? asked.answer->json() : Json()}};
  return {200, "application/json", body.dump()};
}

LocalReply answer_reply(const ExploreChoice& choice, ExploreAsk ask, RunWatch& watch, step::KeptMachines& machines) {
  const Result<std::vector<std::string>> words = explore_words(choice, ask);
  if (!words.ok()) return json_reply("", {2, words.error().text(), {}});
  std::vector<std::string> asked = *words;
  if (ask == ExploreAsk::kStep) asked.emplace_back("--brief");
  return json_reply(lines::typed_line(*words), ask_for_page(asked, watch, machines));
}

/// `saved`: the browser stores the page instead of showing it.
LocalReply report_reply(const ExploreChoice& choice, bool saved, RunWatch& watch, step::KeptMachines& machines) {
  Result<std::vector<std::string>> words = explore_words(choice, ExploreAsk::kStep);
  if (!words.ok()) return {400, kPlainType, words.error().text() + "\n"};
  words->insert(words->end(), {"--html", "step.html"});  // the answer has what a page shows; nothing is written
  const lines::AskedLine asked = ask_for_page(*words, watch, machines);
  if (!asked.answer) return {400, kPlainType, asked.message + "\n"};
  report::Document document = views::view_of(*asked.answer, views::Extent::kPage);
  document.command = lines::typed_line(*words);
  LocalReply reply{200, kPageType, report::render_html(document)};
  if (saved) reply.headers = {{"Content-Disposition", "attachment; filename=\"step.html\""}};
  return reply;
}

LocalReply page_reply() {
  const Result<std::string> nonce = random_digits();
  if (!nonce.ok()) return {500, kPlainType, nonce.error().text() + "\n"};
  return {200, kPageType, explore_page(*nonce), {{"Content-Security-Policy", explore_policy(*nonce)}}};
}

LocalReply ExploreAnswers::reply(const LocalRequest& request, RunWatch& watch) {
  const LocalReply out = reply_of(request, watch);  // the answer, which uses a machine, has ended with it
  machines_.fit();
  return out;
}

LocalReply ExploreAnswers::reply_of(const LocalRequest& request, RunWatch& watch) {
  for (const auto& [path, ask] : kAnswers)
    if (request.path == path) return answer_reply(request.values, ask, watch, machines_);
  if (request.path == "/") return page_reply();
  if (request.path == "/report") return report_reply(request.values, true, watch, machines_);
  if (request.path == "/details") return report_reply(request.values, false, watch, machines_);
  return {404, kPlainType, "there is no such page\n"};
}

std::vector<std::string> ExploreAnswers::long_paths() { return {"/plan", "/machines", "/fabrics"}; }

struct ExploreFlags {
  std::uint32_t port = 0;
  bool json = false;
};

Result<int> run(const ExploreFlags& o) {
  constexpr std::uint32_t kLastPort = 65535;
  if (o.port > kLastPort)
    return lines::flag_error("--port",
                             fmt::format("{} is no port; use 1 to {}, or 0 for any free one", o.port, kLastPort));
  BUSBAR_RETURN_IF_ERROR(spec::Catalog().check());
  const LongRun watch("answers");  // Ctrl-C ends the wait below and the steps that are being computed
  ExploreAnswers answers;
  const auto reply = [&](const LocalRequest& request, RunWatch& run) { return answers.reply(request, run); };
  BUSBAR_ASSIGN(const std::unique_ptr<LocalServer> server,
                LocalServer::open(o.port, reply, {.with_progress = ExploreAnswers::long_paths()}));
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

lines::Command explore_command(const std::string& typed) {
  static_cast<void>(typed);  // prints no page of its own
  const auto o = std::make_shared<ExploreFlags>();
  lines::Command c;
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

}  // namespace busbar::cli
