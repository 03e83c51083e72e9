#include "busbar/questions/next_measurement.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "busbar/accuracy/next_tables.h"
#include "busbar/base/quantity.h"
#include "busbar/base/shell_line.h"
#include "busbar/questions/command_words.h"

namespace busbar::questions {

Result<Json> trained_answer(const std::string& line, const accuracy::ExpectOptions& machine, const Where& flag,
                            const Context& context) {
  std::vector<std::string> words = command_words(line);
  if (!words.empty() && words.front() == "busbar") words.erase(words.begin());
  if (words.empty() || words.front() != "train")
    return invalid(fmt::format("'{}' is not a line of train; write \"train --model llama3.1-8b --tp 8\"", line), flag);
  if (std::find(words.begin(), words.end(), "--cluster") != words.end())
    return invalid("the machine is the one that is calibrated; leave --cluster out of the line", flag);
  if (!context.answer_line) return unsupported("this caller reads no command lines; use the command or the library");
  words.insert(words.end(), {"--cluster", machine.cluster});
  for (const std::string& set : machine.overrides.set) words.insert(words.end(), {"--set", set});
  LineAnswer answer = context.answer_line(words);
  if (answer.status <= 1 && answer.json.is_object() && answer.json.contains("calls")) return std::move(answer.json);
  return invalid(fmt::format("'busbar {}' failed: {}", line, answer.message.substr(0, answer.message.find('\n'))),
                 flag);
}

namespace {

constexpr std::size_t kMostNext = 3;

double number_in(const Json& j, std::string_view key) { return j[key].is_number() ? j[key].number() : 0; }
std::string text_in(const Json& j, std::string_view key) { return j[key].is_string() ? j[key].text() : std::string(); }

/// The ranks of the first group in "busbar collective ... --ranks 0:8+8x4 ..."; empty: all of the machine.
std::string first_group(const std::string& command) {
  const std::vector<std::string> words = command_words(command);
  const auto flag = std::find(words.begin(), words.end(), "--ranks");
  if (flag == words.end() || flag + 1 == words.end()) return {};
  return (flag + 1)->substr(0, (flag + 1)->find('+'));
}

/// Predictors of groups of the machine.
class GroupPredictors {
 public:
  GroupPredictors(const accuracy::ExpectOptions& machine, const accuracy::Calibration& fit)
      : machine_(machine), overlay_(fit.overlay) {
    machine_.policy.launch.reset();
  }
  Result<program::CallTraits> traits(collectives::Collective op, std::uint64_t bytes, const std::string& group) {
    auto it = made_.find(group);
    if (it == made_.end()) {
      BUSBAR_ASSIGN(auto made, make(group));
      it = made_.emplace(group, std::move(made)).first;
    }
    BUSBAR_ASSIGN(const predict::Prediction p,
                  it->second->time(predict::call_over(op, Bytes{bytes}, it->second->ranks()), predict::kTimeAlone));
    return p.traits;
  }

 private:
  Result<std::unique_ptr<predict::Predictor>> make(const std::string& group) const {
    accuracy::ExpectOptions options = machine_;
    options.gpus = 0;
    options.ranks = group.empty() ? std::vector<std::string>() : std::vector<std::string>{group};
    if (overlay_.empty()) return accuracy::predictor_of(options, options.overrides);
    spec::Overrides catalog_only;
    catalog_only.catalog = options.overrides.catalog;
    BUSBAR_ASSIGN(spec::Cluster cluster, spec::parse_cluster(overlay_, options.cluster, catalog_only));
    return accuracy::predictor_on(options, std::move(cluster));
  }
  accuracy::ExpectOptions machine_;
  const std::string& overlay_;
  std::map<std::string, std::unique_ptr<predict::Predictor>> made_;
};

Result<std::vector<accuracy::WaitedCall>> waited_calls(const Json& answer, GroupPredictors& predictors) {
  std::vector<accuracy::WaitedCall> out;
  for (const Json& c : answer["calls"].values()) {
    const double waits_s = number_in(c, "exposed_s");
    const Result<collectives::Collective> op = collectives::parse_collective(text_in(c, "collective"));
    if (waits_s <= 0 || !op.ok() || number_in(c, "ranks") < 2) continue;
    const std::string group = first_group(text_in(c, "command"));
    BUSBAR_ASSIGN(program::CallTraits traits,
                  predictors.traits(*op, static_cast<std::uint64_t>(number_in(c, "size_bytes")), group));
    out.push_back({std::move(traits), waits_s, group});
  }
  return out;
}

/// The program of nccl-tests. Source: NVIDIA nccl-tests, src/Makefile.
std::string nccl_program(collectives::Collective op) {
  std::string out = collectives::name_of(op);
  if (op == collectives::Collective::kAllToAll) out = "alltoall";
  if (op == collectives::Collective::kSendRecv) out = "sendrecv";
  return out + "_perf";
}

/// The least power of two from `bytes` on, or the largest up to it.
std::uint64_t nearest_power(double bytes, bool up) {
  const double exponent = std::log2(std::max(bytes, 1.0));
  return std::uint64_t{1} << static_cast<int>(up ? std::ceil(exponent) : std::floor(exponent));
}

std::string table_command(const accuracy::NextTable& t) {
  const std::uint64_t low = nearest_power(t.low_bytes, false), high = nearest_power(t.high_bytes, true);
  return fmt::format("mpirun -np {} {} -b {} -e {} -f 2 -g 1", t.ranks, nccl_program(t.op), low, high);
}

}  // namespace

Result<std::vector<NextMeasurement>> next_measurements(const std::string& line, const accuracy::ExpectOptions& machine,
                                                       const accuracy::Calibration& fit, const Context& context) {
  BUSBAR_ASSIGN(const Json answer, trained_answer(line, machine, {"", 0, 0, "--for"}, context));
  GroupPredictors predictors(machine, fit);
  BUSBAR_ASSIGN(const std::vector<accuracy::WaitedCall> calls, waited_calls(answer, predictors));
  std::vector<NextMeasurement> out;
  for (const accuracy::NextTable& t : accuracy::next_tables(calls, fit.calls, number_in(answer, "step_time_s")))
    if (out.size() < kMostNext) out.push_back({table_command(t), t.group, t.before_percent, t.after_percent});
  return out;
}

const Record& record_of(const NextMeasurement*) {
  using N = NextMeasurement;
  static const Record record(
      "next measurement",
      {{"command", &N::command, "", "of nccl-tests, on the ranks below"},
       {"ranks", &N::ranks, "", "as --ranks of calibrate takes them; empty: all"},
       {"before_percent", &N::before_percent, "%", "nine tenths of the answer's spread by collectives, up and down"},
       {"after_percent", &N::after_percent, "%", "the same with this table"}});
  return record;
}

}  // namespace busbar::questions
