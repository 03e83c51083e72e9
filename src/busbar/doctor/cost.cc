#include "busbar/doctor/cost.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "busbar/accuracy/suspects.h"
#include "busbar/base/text.h"

namespace busbar::doctor {
namespace {

constexpr Bytes kCostSize{std::uint64_t{1} << 30};

Result<double> time_us(const accuracy::ExpectOptions& o, spec::Cluster cluster) {
  BUSBAR_ASSIGN(const auto machine, accuracy::predictor_on(o, std::move(cluster)));
  BUSBAR_ASSIGN(const predict::Prediction p,
                machine->time(predict::call_over(o.op, kCostSize, machine->ranks()), predict::kTimeAlone));
  return p.time.in_us();
}

/// `name`: a rule of suspects.h, or a variable of NCCL with its value.
std::optional<accuracy::Suspect> suspect_named(const std::string& name, const spec::Cluster& cluster) {
  if (name.find('=') != name.npos) return accuracy::Suspect{"setting", name, "", {}, {}, {name}};
  std::vector<accuracy::Suspect> all = accuracy::whole_machine_faults(cluster);
  for (accuracy::Suspect& s : accuracy::single_parts(cluster.topology)) all.push_back(std::move(s));
  const auto at = std::find_if(all.begin(), all.end(), [&](const accuracy::Suspect& s) { return s.rule == name; });
  return at == all.end() ? std::nullopt : std::optional(std::move(*at));
}

/// Whether NCCL or RCCL runs on the machine, so that its variables have an effect.
bool runs_nccl(const accuracy::ExpectOptions& o, const spec::Cluster& cluster) {
  const auto machine = accuracy::predictor_on(o, cluster);
  return !machine.ok() || !(*machine)->library(predict::call_over(o.op, kCostSize, (*machine)->ranks()).groups).empty();
}

/// Whether the fault is made by variables of NCCL.
bool by_variables(const RuleCost& cost, const spec::Cluster& cluster) {
  return std::any_of(cost.faults.begin(), cost.faults.end(), [&](const std::string& fault) {
    const auto s = suspect_named(fault, cluster);
    return s && !s->env.empty();
  });
}

/// A machine with its options, and what distinguishes it.
struct OtherMachine {
  spec::Cluster cluster;
  accuracy::ExpectOptions options;
  std::string words;
  std::vector<std::string> selectors{};  ///< of the class of the part that has the fault
  std::string flags{};                   ///< that make the difference
};

/// Empty: the machine cannot have the fault.
std::optional<OtherMachine> with_faults(const RuleCost& cost, const accuracy::ExpectOptions& o,
                                        const spec::Cluster& sound) {
  OtherMachine out{sound, o, {}};
  for (const std::string& fault : cost.faults) {
    const auto s = suspect_named(fault, sound);
    if (!s) return std::nullopt;
    const double factor = cost.factor.value_or(s->factors.empty() ? 1 : s->factors.front());
    if (!accuracy::apply_suspect(*s, factor, out.cluster, out.options.policy).ok()) return std::nullopt;
    append_word(out.words, s->words.substr(0, s->words.find(" (")));
    out.flags += (out.flags.empty() ? "" : " ") + accuracy::flags_of(*s, factor);
    out.selectors.insert(out.selectors.end(), s->alike.begin(), s->alike.end());
    if (cost.factor) out.words += *cost.factor == 0 ? " dead" : fmt::format(" at {:g} of the rate", *cost.factor);
  }
  return out;
}

/// The machine as it should be. Empty: it already is.
Result<std::optional<OtherMachine>> without_fault(const RuleCost& cost, const accuracy::ExpectOptions& o) {
  accuracy::ExpectOptions other = o;
  if (cost.sound == "undamaged") {
    if (o.overrides.degrade.empty() && o.overrides.fail.empty()) return std::optional<OtherMachine>();
    other.overrides.degrade.clear();
    other.overrides.fail.clear();
  } else {
    other.overrides.set.push_back(cost.sound);
  }
  BUSBAR_ASSIGN(spec::Cluster cluster, o.load(o.cluster, other.overrides));
  const std::string words = cost.sound == "undamaged" ? "relative to undamaged links" : "relative to " + cost.sound;
  return std::optional(OtherMachine{std::move(cluster), std::move(other), words});
}

/// Fills in the cost, if there is one.
void add_cost(Finding& f, const accuracy::ExpectOptions& o, const spec::Cluster& cluster) {
  const RuleCost& cost = f.cost;
  std::optional<OtherMachine> other;
  if (cost.sound.empty()) {
    other = with_faults(cost, o, cluster);
  } else if (auto sound = without_fault(cost, o); sound.ok()) {
    other = std::move(*sound);
  }
  if (!other) return;
  const Result<double> as_is = time_us(o, cluster);
  const Result<double> changed = time_us(other->options, std::move(other->cluster));
  if (!as_is.ok() || !changed.ok()) return;
  const double faulty = cost.sound.empty() ? *changed : *as_is, sound = cost.sound.empty() ? *as_is : *changed;
  f.cost_percent = 100 * (faulty / sound - 1);
  f.cost_of = fmt::format("{} of 1 GiB on {}: {}", collectives::name_of(o.op), o.cluster, other->words);
  f.selectors = std::move(other->selectors);
  f.flags = std::move(other->flags);
}

}  // namespace

Result<std::string> add_costs(const FaultCostOptions& options, Diagnosis& found) {
  accuracy::ExpectOptions o = options.machine;
  BUSBAR_ASSIGN(const spec::Cluster cluster, o.load(o.cluster, o.overrides));
  const bool nccl = runs_nccl(o, cluster);
  for (Finding& f : found.findings) {
    if (f.cost.faults.empty() && f.cost.sound.empty()) continue;
    if (!nccl && by_variables(f.cost, cluster)) {
      f.cost_of = fmt::format("not predicted: neither NCCL nor RCCL runs on {}, so its variables change nothing there",
                              o.cluster);
      continue;
    }
    o.op = options.machine.op;
    if (!options.op_asked) o.op = f.cost.op.value_or(collectives::Collective::kAllReduce);
    add_cost(f, o, cluster);
  }
  return cluster.text;
}

}  // namespace busbar::doctor
