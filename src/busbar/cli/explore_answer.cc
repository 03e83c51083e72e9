#include "busbar/cli/explore_answer.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

#include "busbar/base/input.h"
#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/base/run_files.h"
#include "busbar/cli/command_line.h"
#include "busbar/cli/explore_fields.h"
#include "busbar/cli/explore_page.h"

namespace busbar {
namespace {

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

}  // namespace

LocalReply ExploreAnswers::reply(const LocalRequest& request, RunWatch& watch) {
  const WatchedRun watched(watch);
  const KeptMachines::Lent lent(machines_);
  for (const auto& [path, ask] : kAnswers)
    if (request.path == path) return answer_reply(request.values, ask);
  if (request.path == "/") return page_reply();
  if (request.path == "/report") return report_reply(request.values, true);
  if (request.path == "/details") return report_reply(request.values, false);
  return {404, kPlainType, "there is no such page\n"};
}

std::vector<std::string> ExploreAnswers::long_paths() { return {"/plan", "/machines", "/fabrics"}; }

}  // namespace busbar
