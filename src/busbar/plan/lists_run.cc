#include "busbar/plan/lists_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "busbar/base/quantity.h"
#include "busbar/spec/layout_file.h"
#include "busbar/topology/gpu_memory.h"
#include "busbar/workload/batch.h"

namespace busbar::plan {
namespace {

constexpr double kMostCombinations = 1e5;

/// A list of numbers.
struct NumberList {
  const char* name;
  std::string PlanLists::*typed;
  std::vector<std::uint32_t> PlanSpace::*values;
  std::optional<std::int64_t> spec::LayoutFlags::*one;
};
constexpr NumberList kNumberLists[] = {
    {"tp", &PlanLists::tp, &PlanSpace::tp, &spec::LayoutFlags::tp},
    {"pp", &PlanLists::pp, &PlanSpace::pp, &spec::LayoutFlags::pp},
    {"vpp", &PlanLists::vpp, &PlanSpace::vpp, &spec::LayoutFlags::vpp},
    {"dp", &PlanLists::dp, &PlanSpace::dp, &spec::LayoutFlags::dp},
    {"cp", &PlanLists::cp, &PlanSpace::cp, &spec::LayoutFlags::cp},
    {"ep", &PlanLists::ep, &PlanSpace::ep, &spec::LayoutFlags::ep},
    {"micro_batch", &PlanLists::micro_batch, &PlanSpace::micro_batch, &spec::LayoutFlags::micro_batch},
    {"zero", &PlanLists::zero, &PlanSpace::zero, &spec::LayoutFlags::zero},
};
constexpr const char* kRecomputeList = "recompute";

/// The values of one list, and where a combination writes the one that it has.
struct ListAxis {
  std::string name;
  std::vector<std::string> values;
  std::optional<std::int64_t> spec::LayoutFlags::*number = nullptr;  ///< null: recompute
};

Result<std::vector<ListAxis>> axes_of(const PlanLists& lists, const workload::LayoutSpec& base) {
  BUSBAR_ASSIGN(const PlanSpace space, read_space(lists, base));
  std::vector<ListAxis> out;
  for (const NumberList& f : kNumberLists) {
    if ((lists.*f.typed).empty()) continue;
    ListAxis axis{f.name, {}, f.one};
    for (const std::uint32_t v : space.*f.values) axis.values.push_back(std::to_string(v));
    out.push_back(std::move(axis));
  }
  if (lists.recompute.empty()) return out;
  ListAxis axis{kRecomputeList, {}, nullptr};
  for (const PlanRecompute& r : space.recompute) axis.values.emplace_back(workload::name_of(r.kind));
  out.push_back(std::move(axis));
  return out;
}

/// Times or refuses one combination after the other.
class Combinations {
 public:
  Combinations(ListsRun& run, std::vector<ListAxis> axes)
      : run_(run), axes_(std::move(axes)), gpus_(run.machine.gpus) {}

  /// The n-th one: the last list changes fastest.
  Status add(std::uint64_t n) {
    spec::LayoutFlags flags;
    std::vector<std::pair<std::string, std::string>> values;
    for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
      const std::string& value = axis->values[n % axis->values.size()];
      n /= axis->values.size();
      if (axis->number != nullptr)
        flags.*(axis->number) = std::stoll(value);
      else
        flags.recompute = value;
      values.emplace(values.begin(), axis->name, value);
    }
    const spec::Scenario& scenario = run_.machine.scenario;
    workload::LayoutSpec asked = scenario.layout;
    BUSBAR_RETURN_IF_ERROR(spec::apply_flags(flags, asked));
    workload::fill_batch(asked, scenario.model, gpus_);  // one batch for all combinations
    Result<workload::LayoutSpec> layout = workload::resolve_layout(std::move(asked), scenario.model, gpus_);
    if (!layout.ok()) {
      ++refused_[layout.error().message];
      return {};
    }
    ListedLayout row{{std::move(*layout), {}, {}, {}}, "", std::move(values)};
    row.planned.memory = workload::memory_use(scenario.model, row.planned.layout);
    const Status fits = workload::check_fits(row.planned.memory, run_.capacity);
    if (fits.ok()) {
      BUSBAR_ASSIGN(row.planned.step, step::step_with(run_.machine, row.planned.layout));
    } else {
      row.no_fit = fits.error().message;
    }
    run_.layouts.push_back(std::move(row));
    return {};
  }

  void close() {
    for (const auto& [why, count] : refused_) run_.refused.push_back({why, count});
    std::stable_sort(run_.refused.begin(), run_.refused.end(),
                     [](const RefusedLayouts& a, const RefusedLayouts& b) { return a.combinations > b.combinations; });
    std::stable_sort(run_.layouts.begin(), run_.layouts.end(), [](const ListedLayout& a, const ListedLayout& b) {
      if (a.no_fit.empty() != b.no_fit.empty()) return a.no_fit.empty();
      if (a.no_fit.empty()) return a.planned.step.step_time < b.planned.step.step_time;
      return count(a.planned.memory.total()) < count(b.planned.memory.total());
    });
  }

 private:
  ListsRun& run_;
  std::vector<ListAxis> axes_;
  const std::uint32_t gpus_;
  std::map<std::string, std::uint64_t> refused_;
};

}  // namespace

std::size_t ListsRun::fitting() const {
  return static_cast<std::size_t>(
      std::count_if(layouts.begin(), layouts.end(), [](const ListedLayout& l) { return l.no_fit.empty(); }));
}

bool names_a_list(const PlanLists& lists) {
  return !lists.recompute.empty() || std::any_of(std::begin(kNumberLists), std::end(kNumberLists),
                                                 [&](const NumberList& f) { return !(lists.*f.typed).empty(); });
}

Result<ListsRun> run_lists(spec::Scenario scenario, const PlanLists& lists, const step::TrainAsk& ask,
                           const Context& context) {
  if (ask.engine == "packet") return invalid("lists of layouts need flow or analytic", {"", 0, 0, "engine"});
  BUSBAR_ASSIGN(std::vector<ListAxis> axes, axes_of(lists, scenario.layout));
  const std::string first = axes.front().name;
  double all = 1;
  for (const ListAxis& a : axes) all *= static_cast<double>(a.values.size());
  if (all > kMostCombinations)
    return invalid(
        fmt::format("the lists have {} combinations, more than {}; shorten them, or let `busbar plan` search",
                    format_number(all), format_number(kMostCombinations)),
        {"", 0, 0, first});
  ListsRun run;
  BUSBAR_ASSIGN(run.machine, step::open_train(std::move(scenario), ask));
  run.capacity = topology::gpu_memory(run.machine.cluster().topology);
  run.combinations = static_cast<std::uint64_t>(all);
  Combinations combinations(run, std::move(axes));
  for (std::uint64_t n = 0; n < run.combinations && run.complete; ++n) {
    run.complete = context.go_on("layouts", n, run.combinations);
    if (!run.complete) break;
    const Status added = combinations.add(n);
    if (!added.ok() && context.stopped()) run.complete = false;
    if (!added.ok() && run.complete) return added.error();
  }
  combinations.close();
  if (run.layouts.empty() && run.complete)
    return invalid(fmt::format("none of the {} combinations is possible: {}", run.combinations, run.refused[0].why),
                   {"", 0, 0, first});
  return run;
}

}  // namespace busbar::plan
