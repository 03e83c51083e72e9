#include "busbar/cli/train_lists.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/plan_report.h"
#include "busbar/cli/session.h"
#include "busbar/cli/train_report.h"
#include "busbar/topology/gpu_memory.h"
#include "busbar/workload/batch.h"

namespace busbar {
namespace {

constexpr double kMostCombinations = 1e5;

/// A flag that takes a list.
struct ListFlag {
  const char* name;
  std::string PlanLists::*typed;
  std::vector<std::uint32_t> PlanSpace::*values;
  std::optional<std::int64_t> LayoutFlags::*one;
};
constexpr ListFlag kNumberLists[] = {
    {"--tp", &PlanLists::tp, &PlanSpace::tp, &LayoutFlags::tp},
    {"--pp", &PlanLists::pp, &PlanSpace::pp, &LayoutFlags::pp},
    {"--vpp", &PlanLists::vpp, &PlanSpace::vpp, &LayoutFlags::vpp},
    {"--dp", &PlanLists::dp, &PlanSpace::dp, &LayoutFlags::dp},
    {"--cp", &PlanLists::cp, &PlanSpace::cp, &LayoutFlags::cp},
    {"--ep", &PlanLists::ep, &PlanSpace::ep, &LayoutFlags::ep},
    {"--micro-batch", &PlanLists::micro_batch, &PlanSpace::micro_batch, &LayoutFlags::micro_batch},
    {"--zero", &PlanLists::zero, &PlanSpace::zero, &LayoutFlags::zero},
};
constexpr const char* kRecomputeFlag = "--recompute";

/// The values of one list, and where a combination writes the one that it has.
struct ListAxis {
  std::string flag, typed;
  std::vector<std::string> values;
  std::optional<std::int64_t> LayoutFlags::*number = nullptr;  ///< null: recompute
};

Result<std::vector<ListAxis>> axes_of(const PlanLists& lists, const LayoutSpec& base) {
  Result<PlanSpace> read = read_space(lists, base);
  if (!read.ok()) return as_flag(read.error());
  const PlanSpace& space = *read;
  std::vector<ListAxis> out;
  for (const ListFlag& f : kNumberLists) {
    if ((lists.*f.typed).empty()) continue;
    ListAxis axis{f.name, lists.*f.typed, {}, f.one};
    for (const std::uint32_t v : space.*f.values) axis.values.push_back(std::to_string(v));
    out.push_back(std::move(axis));
  }
  if (lists.recompute.empty()) return out;
  ListAxis axis{kRecomputeFlag, lists.recompute, {}, nullptr};
  for (const Recompute r : space.recompute) axis.values.emplace_back(name_of(r));
  out.push_back(std::move(axis));
  return out;
}

/// The command line without flags of output, and with one value instead of a list.
std::string without_output(const std::string& typed) {
  std::string out;
  for (const std::string_view word : split_at(typed, ' '))
    if (word != "--json" && word != "--csv") out += (out.empty() ? "" : " ") + std::string(word);
  return out;
}

void set_value(const ListAxis& axis, const std::string& value, std::string& command) {
  for (const char* between : {" ", "="}) {
    const std::string before = " " + axis.flag + between + axis.typed;
    if (const std::size_t at = command.find(before); at != std::string::npos)
      command.replace(at, before.size(), " " + axis.flag + between + value);
  }
}

/// Times or refuses one combination after the other.
class Combinations {
 public:
  Combinations(ListsRun& run, std::vector<ListAxis> axes, const std::string& typed)
      : run_(run), axes_(std::move(axes)), command_(without_output(typed)) {
    gpus_ = run.machine.gpus;
  }

  /// The n-th one: the last list changes fastest.
  Status add(std::uint64_t n) {
    LayoutFlags flags;
    std::string command = command_;
    for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
      const std::string& value = axis->values[n % axis->values.size()];
      n /= axis->values.size();
      if (axis->number != nullptr)
        flags.*(axis->number) = std::stoll(value);
      else
        flags.recompute = value;
      set_value(*axis, value, command);
    }
    const Scenario& scenario = run_.machine.scenario;
    LayoutSpec asked = scenario.layout;
    BUSBAR_RETURN_IF_ERROR(apply_flags(flags, asked));
    fill_batch(asked, scenario.model, gpus_);  // one batch for all combinations
    Result<LayoutSpec> layout = resolve_layout(std::move(asked), scenario.model, gpus_);
    if (!layout.ok()) {
      ++refused_[layout.error().message];
      return {};
    }
    ListedLayout row{{std::move(*layout), {}, {}, {}}, "", std::move(command)};
    row.planned.memory = memory_use(scenario.model, row.planned.layout);
    const Status fits = check_fits(row.planned.memory, run_.capacity);
    if (fits.ok()) {
      BUSBAR_ASSIGN(row.planned.step, step_with(run_.machine, row.planned.layout));
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
  std::string command_;
  std::uint32_t gpus_ = 0;
  std::map<std::string, std::uint64_t> refused_;
};

std::string memory_text(const PlannedLayout& l) { return format_size(static_cast<double>(count(l.memory.total()))); }

std::size_t fitting(const ListsRun& r) {
  return static_cast<std::size_t>(
      std::count_if(r.layouts.begin(), r.layouts.end(), [](const ListedLayout& l) { return l.no_fit.empty(); }));
}

Highlight lists_verdict(const ListsRun& r) {
  const PlannedLayout& best = r.layouts.front().planned;
  const std::string capacity = format_size(static_cast<double>(count(r.capacity)));
  if (!r.layouts.front().no_fit.empty())
    return {fmt::format("No layout fits into {}: the least, {} with micro-batch {}, needs {}.", capacity,
                        short_layout(best.layout), best.layout.micro_batch, memory_text(best))};
  return {fmt::format("{} per step, {} % MFU, with {}, micro-batch {}, recompute {}: the fastest of {} that fit.",
                      format_duration(best.step.step_time.in_s()), format_number(100 * mfu_of(r.machine, best)),
                      short_layout(best.layout), best.layout.micro_batch, name_of(best.layout.recompute), fitting(r))};
}

Table lists_table(const ListsRun& r) {
  Table t = table_of_layouts(fitting(r) > 0 ? "Layouts, the fastest first" : "Layouts, the smallest first", "fits");
  for (const ListedLayout& row : r.layouts) {
    const PlannedLayout& l = row.planned;
    const bool fits = row.no_fit.empty();
    const double usd = fits ? usd_of(r.machine, l) : 0;
    const double over = static_cast<double>(count(l.memory.total())) - static_cast<double>(count(r.capacity));
    t.rows.push_back({std::to_string(t.rows.size() + 1), short_layout(l.layout), std::to_string(l.layout.micro_batch),
                      name_of(l.layout.recompute), fits ? format_duration(l.step.step_time.in_s()) : "-",
                      fits ? fmt::format("{:.1f}", 100 * mfu_of(r.machine, l)) : "-", memory_text(l),
                      usd > 0 ? format_number(usd) : "-", fits ? "yes" : format_size(over) + " too large"});
  }
  std::uint64_t refused = 0;
  for (const RefusedLayouts& f : r.refused) refused += f.combinations;
  t.note = fmt::format("{} combinations: {} timed, {} do not fit into {}, {} not possible{}.", r.combinations,
                       fitting(r), r.layouts.size() - fitting(r), format_size(static_cast<double>(count(r.capacity))),
                       refused, r.complete ? "" : ", the others not tried");
  return t;
}

Table refused_table(const ListsRun& r) {
  constexpr std::size_t kShown = 10;
  Table t{"Not possible", {"combinations", to_left("because")}};
  for (const RefusedLayouts& f : r.refused)
    if (t.rows.size() < kShown) t.rows.push_back({std::to_string(f.combinations), f.why});
  if (r.refused.size() > kShown)
    t.note = fmt::format("And {} other reasons; --json has all.", r.refused.size() - kShown);
  return t;
}

}  // namespace

void take_lists(PlanLists& lists, std::vector<Flag>& flags) {
  const auto take = [&](const char* name, std::string& list) {
    for (Flag& f : flags)
      if (f.names == name) f.list = &list, f.help += "; or a list";
  };
  for (const ListFlag& f : kNumberLists) take(f.name, lists.*f.typed);
  take(kRecomputeFlag, lists.recompute);
}

bool names_a_list(const PlanLists& lists) {
  return !lists.recompute.empty() || std::any_of(std::begin(kNumberLists), std::end(kNumberLists),
                                                 [&](const ListFlag& f) { return !(lists.*f.typed).empty(); });
}

Result<ListsRun> run_lists(Scenario scenario, const PlanLists& lists, const TrainAsk& ask, const std::string& typed) {
  if (ask.engine == "packet") return flag_error("--engine", "lists of layouts need flow or analytic");
  BUSBAR_ASSIGN(std::vector<ListAxis> axes, axes_of(lists, scenario.layout));
  const std::string first = axes.front().flag;
  double all = 1;
  for (const ListAxis& a : axes) all *= static_cast<double>(a.values.size());
  if (all > kMostCombinations)
    return flag_error(first.c_str(),
                      fmt::format("the lists have {} combinations, more than {}; shorten them, or let `busbar plan` "
                                  "search",
                                  format_number(all), format_number(kMostCombinations)));
  ListsRun run;
  BUSBAR_ASSIGN(run.machine, open_train(std::move(scenario), ask));
  run.capacity = gpu_memory(run.machine.cluster().topology);
  run.combinations = static_cast<std::uint64_t>(all);
  LongRun watch("layouts");
  Combinations combinations(run, std::move(axes), typed);
  for (std::uint64_t n = 0; n < run.combinations && run.complete; ++n) {
    run.complete = watch.go_on(n, run.combinations);
    if (!run.complete) break;
    const Status added = combinations.add(n);
    if (!added.ok() && watch.interrupted()) run.complete = false;
    if (!added.ok() && run.complete) return added.error();
  }
  watch.report_interruption();
  combinations.close();
  if (run.layouts.empty() && run.complete)
    return invalid(fmt::format("none of the {} combinations is possible: {}", run.combinations, run.refused[0].why),
                   {"", 0, 0, first});
  run.status = watch.status(fitting(run) > 0 ? 0 : 1);
  return run;
}

Json lists_json(const ListsRun& r, const CommonOptions& common) {
  Json j{
      {"schema", "busbar.train/1"},
      {"cluster", r.machine.cluster().name},
      {"model", r.machine.scenario.model.name},
      {"engine", r.machine.engine},
      {"inputs_hash", inputs_hash(common, r.machine.kernels.text + r.machine.scenario.text + r.machine.cluster().text)},
      {"combinations", r.combinations},
      {"timed", fitting(r)},
      {"no_fit", r.layouts.size() - fitting(r)},
      {"complete", r.complete},
      {"memory_capacity_bytes", count(r.capacity)}};
  j["layouts"] = Json::array();
  for (const ListedLayout& row : r.layouts) {
    const bool fits = row.no_fit.empty();
    Json l = planned_json(r.machine, row.planned);
    if (!fits) {
      for (const char* key : {"step_time_s", "step_time_ps", "mfu", "usd_per_step"}) l[key] = nullptr;
      l.erase("breakdown_s");
    }
    l["fits"] = fits;
    l["no_fit_because"] = row.no_fit;
    l["command"] = row.command;
    j["layouts"].push_back(std::move(l));
  }
  j["refused"] = Json::array();
  for (const RefusedLayouts& f : r.refused)
    j["refused"].push_back({{"because", f.why}, {"combinations", f.combinations}});
  j["band_percent"] = Json::array({r.machine.band.low_percent, r.machine.band.high_percent});
  j["band_basis"] = r.machine.band.basis;
  return j;
}

Document lists_document(const ListsRun& r, const std::string& typed) {
  constexpr std::size_t kCommands = 10;
  Document d{fmt::format("{} on {}", r.machine.scenario.model.name, r.machine.cluster().name), typed, {}};
  if (!r.layouts.empty()) {
    d.add(lists_verdict(r));
    d.add(lists_table(r));
    add_batch_words(r.layouts.front().planned.layout, d);
  }
  if (!r.refused.empty()) d.add(refused_table(r));
  Facts commands{"Each row as a step", {}};
  for (std::size_t i = 0; i < std::min(kCommands, r.layouts.size()); ++i)
    commands.items.emplace_back(std::to_string(i + 1), r.layouts[i].command);
  d.add(std::move(commands));
  return d;
}

}  // namespace busbar
