// busbar_bench: user + system seconds and peak memory of whole commands, as a user at a terminal sees them.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "cases.h"
#include "measure.h"
#include "report.h"

namespace busbar::bench {
namespace {

constexpr const char* kHelp =
    R"(usage: bench/run CASE... [--runs N] [--json FILE] [--check] [--busbar PROGRAM] [--against OLD_PROGRAM]

Runs each case N times (5), prints medians of cpu time (user + system) and peak memory next to targets, closed forms and
other simulators. 'all' stands for every case, 'packet' for all that begin with packet-, '--list' names them.

  --json FILE     appends one JSON line per case
  --check         exit 1 when a target is missed
  --busbar FILE   measures this program instead of build/release/busbar
  --against FILE  runs this older program in alternation and compares
)";

struct Options {
  std::vector<std::string> cases;
  std::string busbar = "build/release/busbar";
  std::string against;
  std::string json_file;
  std::string table = "bench/cases.json";
  int runs = 5;
  bool check = false, list = false, help = false;
};

Options parse(const std::vector<std::string>& words) {
  Options o;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = [&]() -> const std::string& {
      if (i + 1 >= words.size()) throw std::runtime_error(words[i] + " needs a value");
      return words[++i];
    };
    const std::string& word = words[i];
    if (word == "--runs") {
      const std::string& text = value();
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), o.runs);
      if (error != std::errc() || end != text.data() + text.size() || o.runs < 1 || o.runs > 1000) {
        throw std::runtime_error("--runs: '" + text + "' is not a number from 1 to 1000");
      }
    } else if (word == "--json") {
      o.json_file = value();
    } else if (word == "--busbar") {
      o.busbar = value();
    } else if (word == "--against") {
      o.against = value();
    } else if (word == "--table") {
      o.table = value();
    } else if (word == "--check") {
      o.check = true;
    } else if (word == "--list") {
      o.list = true;
    } else if (word == "--help" || word == "-h") {
      o.help = true;
    } else if (word.starts_with("-")) {
      throw std::runtime_error("unknown flag '" + word + "'; see bench/run --help");
    } else {
      o.cases.push_back(word);
    }
  }
  return o;
}

std::vector<Case> select(const CaseFile& file, const std::vector<std::string>& names) {
  std::vector<Case> chosen;
  for (const std::string& name : names) {
    const std::size_t before = chosen.size();
    for (const Case& c : file.cases) {
      if (name == "all" || name == c.name || c.name.starts_with(name + "-")) chosen.push_back(c);
    }
    if (chosen.size() == before) throw std::runtime_error("no case '" + name + "'; bench/run --list names them");
  }
  return chosen;
}

/// Reads the command's output about its result and its own work.
void read_output(Outcome& outcome, const std::string& file) {
  const auto numbers = numbers_of(file, {outcome.about.result, "/packet_hops", "/run/events_per_hop"});
  const auto known = [](double x) { return std::isnan(x) ? std::nullopt : std::optional(x); };
  if (const auto found = known(numbers[0])) outcome.predicted_ms = *found * outcome.about.result_ms;
  outcome.packet_hops = known(numbers[1]);
  outcome.events_per_hop = known(numbers[2]);
}

/// A temporary file that its owner deletes.
struct Scratch {
  std::string path = std::filesystem::temp_directory_path() / "busbar-bench-XXXXXX";
  Scratch() {
    const int file = mkstemp(path.data());
    if (file < 0) throw std::runtime_error(path + ": cannot be made");
    close(file);
  }
  ~Scratch() { std::remove(path.c_str()); }
};

Outcome measure(const Case& c, const Options& options) {
  Outcome outcome;
  const Scratch output;
  outcome.about = c;
  const auto once = [&](const std::string& program, std::vector<Usage>& runs) {
    std::vector<std::string> command{program};
    command.insert(command.end(), c.command.begin(), c.command.end());
    runs.push_back(run(command, output.path));
    outcome.exit_code = std::max(outcome.exit_code, runs.back().exit_code);
  };
  for (int i = 0; i < options.runs && outcome.exit_code == 0; ++i) {
    if (!options.against.empty()) once(options.against, outcome.old_runs);
    once(options.busbar, outcome.runs);
  }
  if (outcome.runs.empty()) throw std::runtime_error(c.name + ": the program given with --against fails");
  read_output(outcome, output.path);
  if (outcome.exit_code == 0 && !outcome.predicted_ms) {
    fmt::print(stderr, "bench: {}: no number at {} in the output\n", c.name, c.result);
    outcome.exit_code = 2;
  }
  return outcome;
}

/// 0: done, 1: a target is missed and --check is given, 2: a case did not run.
int main(const std::vector<std::string>& words) {
  const Options options = parse(words);
  if (options.help || (options.cases.empty() && !options.list)) {
    fmt::print(options.help ? stdout : stderr, "{}", kHelp);
    return options.help ? 0 : 2;
  }
  const CaseFile file = load_cases(options.table);
  if (options.list) {
    for (const Case& c : file.cases) fmt::print("{}\n", c.name);
    return 0;
  }
  const Machine machine = this_machine();
  std::vector<Outcome> outcomes;
  for (const Case& c : select(file, options.cases)) outcomes.push_back(measure(c, options));
  print_table(outcomes, machine, file.peers_source);
  if (!options.json_file.empty()) {
    std::ofstream out(options.json_file, std::ios::app);
    for (const Outcome& o : outcomes) out << json_line(o, machine) << '\n';
    if (!out.flush()) throw std::runtime_error(options.json_file + ": cannot be written");
  }
  const auto failed = [](const Outcome& o) { return o.exit_code != 0; };
  if (std::any_of(outcomes.begin(), outcomes.end(), failed)) return 2;
  return options.check && !std::all_of(outcomes.begin(), outcomes.end(), meets_targets) ? 1 : 0;
}

}  // namespace
}  // namespace busbar::bench

int main(int argc, char** argv) {
  try {
    return busbar::bench::main({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench: {}\n", error.what());
    return 2;
  }
}
