#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "busbar/base/input.h"
#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/base/run_files.h"
#include "busbar/cli/command_line.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/explore_fields.h"
#include "busbar/cli/explore_page.h"
#include "busbar/cli/explore_server.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/step_ask.h"
#include "busbar/cli/streams.h"
#include "busbar/spec/catalog.h"
#include "busbar/step/kept_machines.h"

namespace busbar {
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
  KeptMachines machines_;
};

constexpr const char* kPlainType = "text/plain; charset=utf-8";
constexpr const char* kPageType = "text/html; charset=utf-8";

constexpr std::pair<const char*, ExploreAsk> kAnswers[] = {{"/answer", ExploreAsk::kStep},
                                                           {"/plan", ExploreAsk::kPlan},
                                                           {"/machines", ExploreAsk::kMachines},
                                                           {"/fabrics", ExploreAsk::kFabrics}};

std::string line_of(const std::vector<std::string>& words) {
  std::string line = "busbar";
  for (const std::string& word : words) line += " " + word;  // no word of the page needs quotes
  return line;
}

/// What a command printed, on both streams.
struct Said {
  int status = 0;
  std::string out, err;  ///< `err`: without "busbar: "
};

Said run_words(const std::vector<std::string>& words) {
  const RunFiles files;
  CapturedOutput captured;
  Said said;
  said.status = run_command_line(words);
  said.out = std::move(captured.out);
  said.err = captured.err.substr(0, captured.err.find_last_not_of('\n') + 1);
  constexpr std::string_view kHead = "busbar: ";
  if (said.err.starts_with(kHead)) said.err.erase(0, kHead.size());
  return said;
}

LocalReply answer_of(const std::string& command, const Said& said) {
  const Json head{{"command", command}, {"status", said.status}, {"message", said.err}};
  std::string text = head.dump();
  text.pop_back();  // the result is text already, a line of it
  text += ",\"result\":" + (said.out.empty() ? "null" : said.out) + "}";
  std::erase(text, '\n');  // of the layout of JSON: those in its texts are written as two letters
  return {200, "application/json", std::move(text)};
}

LocalReply answer_reply(const ExploreChoice& choice, ExploreAsk ask) {
  const Result<std::vector<std::string>> words = explore_words(choice, ask);
  if (!words.ok()) return answer_of("", {2, "", words.error().text()});
  std::vector<std::string> asked = *words;
  asked.emplace_back("--json");
  if (ask == ExploreAsk::kStep) asked.emplace_back("--brief");
  return answer_of(line_of(*words), run_words(asked));
}

/// A folder that only this user can read, as long as the object exists.
struct PrivateFolder {
  PrivateFolder() {
    std::error_code failed;
    path = (std::filesystem::temp_directory_path(failed) / "busbar-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) path.clear();
  }
  ~PrivateFolder() {
    std::error_code failed;
    if (!path.empty()) std::filesystem::remove_all(path, failed);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  std::string path;
};

/// `saved`: the browser stores the page instead of showing it.
LocalReply report_reply(const ExploreChoice& choice, bool saved) {
  const Result<std::vector<std::string>> words = explore_words(choice, ExploreAsk::kStep);
  if (!words.ok()) return {400, kPlainType, words.error().text() + "\n"};
  const PrivateFolder folder;
  if (folder.path.empty()) return {500, kPlainType, "no folder for the report can be made; see $TMPDIR\n"};
  const std::string file = folder.path + "/step.html";
  std::vector<std::string> asked = *words;
  asked.insert(asked.end(), {"--html", file});
  const Said said = run_words(asked);
  Result<std::string> page = read_text(file);
  if (!page.ok()) return {400, kPlainType, said.err + "\n"};
  const std::size_t named = page->find(file);  // the command line at its head
  if (named != std::string::npos) page->replace(named, file.size(), "step.html");
  LocalReply reply{200, kPageType, std::move(*page)};
  if (saved) reply.headers = {{"Content-Disposition", "attachment; filename=\"step.html\""}};
  return reply;
}

LocalReply page_reply() {
  const Result<std::string> nonce = random_digits();
  if (!nonce.ok()) return {500, kPlainType, nonce.error().text() + "\n"};
  return {200, kPageType, explore_page(*nonce), {{"Content-Security-Policy", explore_policy(*nonce)}}};
}

LocalReply ExploreAnswers::reply(const LocalRequest& request, RunWatch& watch) {
  const WatchedRun watched(watch);
  const LentMachines lent(machines_);
  for (const auto& [path, ask] : kAnswers)
    if (request.path == path) return answer_reply(request.values, ask);
  if (request.path == "/") return page_reply();
  if (request.path == "/report") return report_reply(request.values, true);
  if (request.path == "/details") return report_reply(request.values, false);
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
