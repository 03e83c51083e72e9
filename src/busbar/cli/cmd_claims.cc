#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/base/result.h"
#include "busbar/base/text.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/session.h"
#include "busbar/formats/json_text.h"
#include "busbar/popular/claim.h"
#include "busbar/spec/catalog.h"

namespace busbar {
namespace {

std::vector<std::string> command_words(const std::string& command) {
  std::vector<std::string> out;
  bool quoted = false, open = false;
  for (const char c : command) {
    if (c == '\'') quoted = !quoted;
    const bool ends = c == ' ' && !quoted;
    if (ends || c == '\'') {
      open = open && !ends;
      continue;
    }
    if (!open) out.emplace_back();
    open = true;
    out.back() += c;
  }
  return out;
}

Error not_started(int code) {
  return {ErrorCode::kIo, fmt::format("another run of busbar cannot start: {}", std::strerror(code)), {}};
}

/// A pipe whose ends close on exec; the child gets its end under another number.
struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() { [[maybe_unused]] const int status = pipe2(ends.data(), O_CLOEXEC); }
  ~Pipe() {
    for (const int end : ends)
      if (end >= 0) close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_writing() {
    close(ends[1]);
    ends[1] = -1;
  }
};

std::string read_all(int from) {
  std::string out;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t n = read(from, buffer.data(), buffer.size());
    if (n > 0) out.append(buffer.data(), static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno != EINTR)) return out;
  }
}

/// Starts this program with `words`; its output and its messages go into `to`.
Result<pid_t> start(std::vector<std::string>& words, int to) {
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, to, STDERR_FILENO);
  pid_t child = 0;
  const int code = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return not_started(code);
  return child;
}

/// What "busbar COMMAND --json" prints. Words are separated by spaces; text in single quotes is one word. The process
/// is this same program. Errors: the message of the command, or that it could not start. A clean "no" (exit 1) is a
/// result.
Result<Json> own_run(const std::string& command) {
  std::vector<std::string> words = command_words("busbar " + command + " --json");
  Pipe pipe;
  if (pipe.ends[0] < 0) return not_started(errno);
  BUSBAR_ASSIGN(const pid_t child, start(words, pipe.ends[1]));
  pipe.close_writing();
  const std::string printed = read_all(pipe.ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) <= 1 && printed.starts_with('{'))
    return parse_json(printed.substr(0, printed.rfind('}') + 1), command);
  return invalid(fmt::format("'busbar {}' failed: {}", command, printed.substr(0, printed.find('\n'))));
}

struct ClaimsFlags {
  CommonOptions common;
  std::string wanted;
};

struct JudgedText {
  PopularText text;
  std::vector<JudgedClaim> judged;  ///< of the wanted claims, in the file's order
};

/// The texts with the wanted claims: all, those of a text ("nvlink") or one ("S0-03").
Result<std::vector<PopularText>> wanted_texts(const Catalog& catalog, const std::string& wanted) {
  std::vector<PopularText> out;
  for (const std::string& name : catalog.names("popular")) {
    BUSBAR_ASSIGN(const YamlDocument file, catalog.load("popular", name));
    BUSBAR_ASSIGN(PopularText text, read_popular_text(file));
    if (!wanted.empty() && wanted != name)
      std::erase_if(text.claims, [&](const PopularClaim& c) { return c.id != wanted; });
    if (!text.claims.empty()) out.push_back(std::move(text));
  }
  if (out.empty())
    return Error{ErrorCode::kNotFound,
                 fmt::format("no claim '{}'; the texts are {}, and 'busbar claims' lists every claim with its name",
                             wanted, comma_list(catalog.names("popular"))),
                 {}};
  return out;
}

/// The results of all commands, each run once.
class Commands {
 public:
  Commands(const std::vector<PopularText>& texts, const std::string& catalog) {
    for (const PopularText& text : texts)
      for (const PopularClaim& c : text.claims)
        for (const PopularClaim::Term& t : c.terms) wanted_.insert(t.command);
    if (!catalog.empty()) more_ = fmt::format(" --catalog '{}'", catalog);
  }
  void run(LongRun& watch) {
    for (const std::string& command : wanted_) {
      if (!watch.go_on(results_.size(), wanted_.size())) return;
      results_.emplace(command, own_run(command + more_));
    }
  }
  Result<Json> operator()(const std::string& command) const {
    const auto it = results_.find(command);
    return it == results_.end() ? Result<Json>(interrupted()) : it->second;
  }

 private:
  std::set<std::string> wanted_;
  std::map<std::string, Result<Json>> results_;
  std::string more_;
};

/// Whole numbers without decimals.
std::string number(double value) {
  return value == std::floor(value) && value < 1e15 ? fmt::format("{:.0f}", value) : format_number(value);
}

std::string with_unit(const std::string& text, const std::string& unit) {
  return unit.empty() ? text : text + ' ' + unit;
}

/// "450 GB/s", "3.8 to 7.7 s"; both directions where the text counts so.
std::string computed_text(const JudgedClaim& j) {
  if (!j.computed) return j.problem.empty() ? "" : j.problem;
  const double directions = j.claim->both_directions ? 2 : 1;
  std::string out = number(*j.computed * directions);
  if (j.up_to) out += " to " + number(*j.up_to * directions);
  return with_unit(out, j.claim->unit) + (j.claim->both_directions ? " both ways" : "");
}

std::string verdict_text(const JudgedClaim& j) {
  std::string out = name_of(j.verdict);
  if (j.verdict == ClaimVerdict::kWrong && j.off_by != 1) out += fmt::format(" x{}", number(j.off_by));
  return out;
}

std::vector<std::string> commands_of(const PopularClaim& claim) {
  std::vector<std::string> out;
  for (const PopularClaim::Term& t : claim.terms)
    if (std::find(out.begin(), out.end(), "busbar " + t.command) == out.end()) out.push_back("busbar " + t.command);
  return out;
}

Json to_json(const PopularText& text, const JudgedClaim& j) {
  const PopularClaim& c = *j.claim;
  const std::vector<std::string> commands = commands_of(c);
  const auto or_null = [](const std::string& word) { return word.empty() ? Json(nullptr) : Json(word); };
  const auto figure = [](const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); };
  return {{"id", c.id},
          {"text", text.name},
          {"said", c.said},
          {"said_value", figure(c.value)},
          {"unit", or_null(c.unit)},
          {"computed", figure(j.computed)},
          {"computed_up_to", figure(j.up_to)},
          {"both_directions", c.both_directions},
          {"verdict", name_of(j.verdict)},
          {"said_over_computed", j.verdict == ClaimVerdict::kWrong && j.off_by != 1 ? Json(j.off_by) : Json(nullptr)},
          {"depends_on", or_null(c.depends)},
          {"decided_by", or_null(c.external)},
          {"why", or_null(c.why)},
          {"command", commands.empty() ? Json(nullptr) : Json(commands.front())},
          {"commands", commands},
          {"problem", or_null(j.problem)}};
}

Table table_of(const JudgedText& t) {
  Table out{t.text.title, {to_left("claim"), to_left("said"), to_left("computed"), to_left("verdict")}};
  for (const JudgedClaim& j : t.judged)
    out.rows.push_back({j.claim->id, j.claim->said, computed_text(j), verdict_text(j)});
  return out;
}

/// One claim in full.
Facts facts_of(const JudgedClaim& j) {
  const PopularClaim& c = *j.claim;
  Facts out{c.id, {{"said", c.said}, {"computed", computed_text(j)}, {"verdict", verdict_text(j)}}};
  const auto add = [&out](const char* name, const std::string& value) {
    if (!value.empty()) out.items.emplace_back(name, value);
  };
  add("depends on", c.depends);
  add("decided by", c.external);
  add("why", c.why);
  add("formula", c.up_to.empty() ? c.computed : c.computed + " to " + c.up_to);
  add("holds if", c.holds);
  for (const PopularClaim::Term& t : c.terms) add(t.name.c_str(), fmt::format("{} of: busbar {}", t.path, t.command));
  return out;
}

std::string summary_text(const std::map<ClaimVerdict, std::size_t>& counts) {
  std::string out;
  std::size_t all = 0;
  for (const auto& [verdict, n] : counts) {
    append_word(out, fmt::format("{} {}", n, name_of(verdict)));
    all += n;
  }
  return (all > 1 ? fmt::format("{} claims: ", all) : "") + out + ".";
}

Result<int> run(const ClaimsFlags& o) {
  BUSBAR_ASSIGN(const auto texts, wanted_texts(Catalog(o.common.overrides.catalog), o.wanted));
  Commands commands(texts, o.common.overrides.catalog);
  LongRun watch("commands");
  commands.run(watch);
  watch.report_interruption();
  Json j{{"schema", "busbar.claims/1"}, {"claims", Json::array()}, {"summary", Json::object()}};
  Document d{"What popular texts say, computed", o.common.typed, {}};
  std::map<ClaimVerdict, std::size_t> counts;
  std::string read;
  for (const PopularText& text : texts) {
    JudgedText judged{text, {}};
    read += text.text;
    for (const PopularClaim& c : judged.text.claims) {
      judged.judged.push_back(judge_claim(c, std::cref(commands)));
      ++counts[judged.judged.back().verdict];
      j["claims"].push_back(to_json(text, judged.judged.back()));
    }
    if (judged.judged.size() > 1) {
      d.add(table_of(judged));
    } else {
      d.add(facts_of(judged.judged.front()));
    }
  }
  for (const auto& [verdict, n] : counts) j["summary"][name_of(verdict)] = n;
  d.add(Highlight{summary_text(counts)});
  d.add(Paragraph{
      "GB/s is 1e9 bytes per second in one direction; (2-way): right as a sum of both directions. 'busbar claims ID' "
      "shows the formula and commands of one claim."});
  j["complete"] = !watch.interrupted();
  j["inputs_hash"] = inputs_hash(o.common, read);
  const std::size_t open = counts[ClaimVerdict::kNotComputed];
  if (open > 0 && !watch.interrupted()) say(fmt::format("{} of the claims could not be computed", open));
  return deliver(o.common, j, d, watch.status(open > 0 ? 1 : 0));
}

}  // namespace

Command claims_command(const std::string& typed) {
  auto o = std::make_shared<ClaimsFlags>();
  Command c = new_command(
      o->common, typed, "claims",
      "what popular texts say about GPU networks, computed now: right, wrong by what, or what it depends on");
  c.examples = "  busbar claims\n  busbar claims levels\n  busbar claims S0-67\n  busbar claims --json\n";
  c.positionals = {{"CLAIM", "a claim (S0-67) or a text of catalog/popular (levels); absent: all", &o->wanted, false}};
  c.flags = {{"--catalog", "DIR", "read product data from DIR before $BUSBAR_CATALOG and the built-in files", "Machine",
              &o->common.overrides.catalog},
             {"--json", "", "one JSON object on stdout instead of text", "Output", &o->common.json},
             {"--csv", "", "the claims as CSV instead of text, one per line", "Output", &o->common.csv},
             {"--html", "FILE", "also write a self-contained page", "Output", &o->common.html}};
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
