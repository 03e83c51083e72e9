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
#include "busbar/cli/explore_files.h"
#include "busbar/cli/explore_looks.h"
#include "busbar/cli/explore_page.h"
#include "busbar/cli/explore_saved.h"
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
  ///   "/look?node=...&moved=tp"   what can be said at once (ExploreLooks)
  ///   "/answer?node=..."   {"command", "status", "message", "result"}: what this command prints with --json --brief
  ///   "/collective?..."    the same of the collective of the choice
  ///   "/plan", "/machines", "/fabrics"   the same with --json, for a search of layouts and two comparisons
  ///   "/report?node=..."   the page that the command writes with --html, to save; "/details": the same, to show;
  ///   "/sizes": that of the collective
  ///   POST "/file?kind=cluster&name=lab.yaml"   {"name", "message"}: keeps a file of the user
  LocalReply reply(const LocalRequest& request, RunWatch& watch);

  static ServerPaths paths();

 private:
  LocalReply reply_of(const LocalRequest& request, RunWatch& watch);
  LocalReply answer_reply(const ExploreChoice& choice, ExploreAsk ask, RunWatch& watch);
  LocalReply report_reply(const ExploreChoice& choice, ExploreAsk ask, bool saved, RunWatch& watch);
  LocalReply look_reply(ExploreChoice choice, const RunWatch& watch);
  LocalReply file_reply(const LocalRequest& request);
  lines::AskedLine ask(const std::vector<std::string>& words, RunWatch& watch);

  step::KeptMachines kept_;
  ExploreFiles files_;
  ExploreMachines machines_{files_};
  ExploreLooks looks_{machines_};
};

constexpr const char* kPlainType = "text/plain; charset=utf-8";
constexpr const char* kPageType = "text/html; charset=utf-8";

constexpr std::pair<const char*, ExploreAsk> kAnswers[] = {{"/answer", ExploreAsk::kStep},
                                                           {"/plan", ExploreAsk::kPlan},
                                                           {"/machines", ExploreAsk::kMachines},
                                                           {"/fabrics", ExploreAsk::kFabrics},
                                                           {"/collective", ExploreAsk::kCollective}};

/// Why an answer that the server stopped has no result; empty: it did not.
std::string limit_words(const RunWatch& watch) {
  if (*watch.flag() == kTookTooLong)
    return "takes longer than the page waits, and was stopped; take fewer GPUs, or type the command below";
  if (*watch.flag() == kTookTooMuch)
    return "takes more memory than the page allows, and was stopped; take fewer GPUs, or type the command below";
  return "";
}

/// The answer of `words` for the page; machines stay ready.
lines::AskedLine ExploreAnswers::ask(const std::vector<std::string>& words, RunWatch& watch) {
  questions::Context context;
  context.kept = &kept_;
  context.stop = watch.flag();
  context.progress = [&watch](const Progress& p) {
    if (p.total != 0 || p.so_far) watch.report(p.what, p.done, p.total != 0 ? p.total : p.done + 1);
  };
  lines::AskedLine asked = lines::ask_line(words, std::move(context));
  constexpr std::string_view kHead = "busbar: ";
  if (asked.message.starts_with(kHead)) asked.message.erase(0, kHead.size());
  if (std::string limit = limit_words(watch); !limit.empty() && !asked.answer) asked.message = std::move(limit);
  return asked;
}

LocalReply json_reply(const std::string& command, const lines::AskedLine& asked, const ExploreFiles& files) {
  const Json body{{"command", files.without_folder(command)},
                  {"status", asked.status},
                  {"message", files.without_folder(asked.message)},
                  {"result", asked.answer ? asked.answer->json() : Json()}};
  return {200, "application/json", body.dump()};
}

LocalReply ExploreAnswers::answer_reply(const ExploreChoice& choice, ExploreAsk ask, RunWatch& watch) {
  const Result<std::vector<std::string>> words = explore_words(choice, ask, machines_);
  if (!words.ok()) return json_reply("", {2, words.error().text(), {}}, files_);
  std::vector<std::string> asked = *words;
  if (ask == ExploreAsk::kStep) asked.emplace_back("--brief");
  return json_reply(lines::typed_line(*words), this->ask(asked, watch), files_);
}

/// `saved`: the browser stores the page instead of showing it.
LocalReply ExploreAnswers::report_reply(const ExploreChoice& choice, ExploreAsk ask, bool saved, RunWatch& watch) {
  Result<std::vector<std::string>> words = explore_words(choice, ask, machines_);
  if (!words.ok()) return {400, kPlainType, words.error().text() + "\n"};
  words->insert(words->end(), {"--html", "page.html"});  // the answer has what a page shows; nothing is written
  const lines::AskedLine asked = this->ask(*words, watch);
  if (!asked.answer) return {400, kPlainType, files_.without_folder(asked.message) + "\n"};
  report::Document document = views::view_of(*asked.answer, views::Extent::kPage);
  document.command = files_.without_folder(lines::typed_line(*words));
  if (saved) document.data = asked.answer->json();
  LocalReply reply{200, kPageType, report::render_html(document)};
  if (saved) reply.headers = {{"Content-Disposition", "attachment; filename=\"page.html\""}};
  return reply;
}

LocalReply ExploreAnswers::look_reply(ExploreChoice choice, const RunWatch& watch) {
  std::string moved;
  std::erase_if(choice, [&](const auto& value) {
    if (value.first == "moved") moved = value.second;
    return value.first == "moved";
  });
  return {200, "application/json", looks_.look(choice, moved, watch.flag()).dump()};
}

LocalReply ExploreAnswers::file_reply(const LocalRequest& request) {
  std::string name = "file.yaml";
  ExploreFiles::Kind kind = ExploreFiles::Kind::kCluster;
  for (const auto& [key, value] : request.values) {
    if (key == "name") name = value;
    if (key == "kind" && value == "model") kind = ExploreFiles::Kind::kModel;
  }
  const Result<std::string> kept = files_.add(kind, name, request.body);
  const Json body{{"name", kept.ok() ? *kept : ""},
                  {"message", kept.ok() ? "" : files_.without_folder(kept.error().text())}};
  return {200, "application/json", body.dump()};
}

LocalReply page_reply() {
  const Result<std::string> nonce = random_digits();
  if (!nonce.ok()) return {500, kPlainType, nonce.error().text() + "\n"};
  return {200, kPageType, explore_page(*nonce), {{"Content-Security-Policy", explore_policy(*nonce)}}};
}

LocalReply ExploreAnswers::reply(const LocalRequest& request, RunWatch& watch) {
  const LocalReply out = reply_of(request, watch);  // the answer, which uses a machine, has ended with it
  kept_.fit();
  return out;
}

LocalReply ExploreAnswers::reply_of(const LocalRequest& request, RunWatch& watch) {
  for (const auto& [path, ask] : kAnswers)
    if (request.path == path) return answer_reply(request.values, ask, watch);
  if (request.path == "/") return page_reply();
  if (request.path == "/look") return look_reply(request.values, watch);
  if (request.path == "/report") return report_reply(request.values, ExploreAsk::kStep, true, watch);
  if (request.path == "/details") return report_reply(request.values, ExploreAsk::kStep, false, watch);
  if (request.path == "/sizes") return report_reply(request.values, ExploreAsk::kSizes, false, watch);
  if (request.path == "/file") return file_reply(request);
  return {404, kPlainType, "there is no such page\n"};
}

ServerPaths ExploreAnswers::paths() { return {{"/plan", "/machines", "/fabrics"}, {"/file"}}; }

struct ExploreFlags {
  std::string page;
  std::uint32_t port = 0;
  bool json = false;
};

Result<int> run(const ExploreFlags& o) {
  constexpr std::uint32_t kLastPort = 65535;
  if (o.port > kLastPort)
    return lines::flag_error("--port",
                             fmt::format("{} is no port; use 1 to {}, or 0 for any free one", o.port, kLastPort));
  BUSBAR_RETURN_IF_ERROR(spec::Catalog().check());
  std::string state;
  if (!o.page.empty()) {
    BUSBAR_ASSIGN(state, saved_state(o.page));
  }
  const LongRun watch("answers");  // Ctrl-C ends the wait below and the steps that are being computed
  ExploreAnswers answers;
  const auto reply = [&](const LocalRequest& request, RunWatch& run) { return answers.reply(request, run); };
  BUSBAR_ASSIGN(const std::unique_ptr<LocalServer> server, LocalServer::open(o.port, reply, ExploreAnswers::paths()));
  const std::string address = server->address() + (state.empty() ? "" : "#" + state);
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
      "  busbar explore step.html         # again what a page of train or collective shows\n"
      "  busbar explore --port 8080       # from a laptop: ssh -L 8080:127.0.0.1:8080 HOST\n";
  c.positionals = {{"PAGE", "a page of train or collective, to begin with", &o->page, false}};
  c.flags = {
      {"--port", "N", "port on 127.0.0.1 (default: any free one)", "Server", &o->port},
      {"--json", "", "print the address as one JSON object on stdout", "Output", &o->json},
  };
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar::cli
