#include "busbar/cli/plan_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/cli/flags.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/train_report.h"
#include "busbar/plan/layout_flags.h"
#include "busbar/spec/catalog.h"
#include "busbar/topology/gpu_memory.h"
#include "busbar/workload/batch.h"

namespace busbar {
namespace {

std::vector<std::string> list_words(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= list.size() && !list.empty();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    out.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

bool read_number(const std::string& text, std::uint32_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

Status read_numbers(const char* flag, const std::string& list, std::uint32_t low, std::uint32_t high,
                    std::vector<std::uint32_t>& out) {
  if (list.empty()) return {};
  out.clear();
  for (const std::string& word : list_words(list)) {
    const std::size_t dots = word.find("..");
    std::uint32_t first = 0, last = 0;
    const bool range = dots != std::string::npos;
    const bool good = read_number(word.substr(0, dots), first) &&
                      (range ? read_number(word.substr(dots + 2), last) : (last = first, true));
    if (!good || first < low || last > high || first > last)
      return flag_error(
          flag, fmt::format("'{}' is no list of numbers from {} to {}, such as 1,2,4 or 1..4", list, low, high));
    for (std::uint32_t v = first; v <= last; ++v) out.push_back(v);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return {};
}

template <typename E>
Status read_words(const char* flag, const std::string& list, std::vector<E>& out) {
  if (list.empty()) return {};
  const std::vector<E> all = std::move(out);
  out.clear();
  for (const std::string& word : list_words(list)) {
    const auto known = std::find_if(all.begin(), all.end(), [&](E e) { return word == name_of(e); });
    if (known == all.end()) {
      std::string names;
      for (const E e : all) append_word(names, name_of(e));
      return flag_error(flag, fmt::format("'{}' is none of {}", word, names));
    }
    if (std::find(out.begin(), out.end(), *known) == out.end()) out.push_back(*known);
  }
  return {};
}

Status read_orders(const std::string& list, std::vector<RankOrder>& out) {
  std::vector<RankOrder> all;
  RankOrder order = kTpCpDpPp;  // the words in ascending order
  do all.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  for (const std::string& word : list_words(list)) {
    const auto known = std::find_if(all.begin(), all.end(), [&](const RankOrder& o) { return word == name_of(o); });
    if (word == "all")
      out = all;
    else if (known != all.end())
      out.push_back(*known);
    else
      return flag_error("--order", fmt::format("'{}' is no order of tp, cp, dp and pp, such as tp-cp-pp-dp", word));
  }
  return {};
}

std::string degrees(const LayoutSpec& l) {
  std::string s = fmt::format("TP {} x PP {} x DP {}", l.tp, l.pp, l.dp);
  if (l.cp > 1) s += fmt::format(" x CP {}", l.cp);
  if (l.ep > 1) s += fmt::format(", EP {}", l.ep);
  return s;
}

Error nothing_fits(const PlannedLayout& least, Bytes capacity) {
  Error e = check_fits(least.memory, capacity).error();
  e.message = fmt::format(
      "no layout fits: the least, {} with ZeRO-{}, recompute {} and micro-batch {}, is {} too large; {}; 'busbar plan' "
      "tries what would make it fit",
      degrees(least.layout), least.layout.zero, name_of(least.layout.recompute), least.layout.micro_batch,
      format_size(static_cast<double>(count(least.memory.total()) - count(capacity))),
      e.message.substr(0, e.message.find("; raise")));
  return e;
}

using GoOn = std::function<bool(std::size_t, const PlanProgress&)>;
constexpr std::size_t kCompared = 10;  ///< layouts that a search times where ties are left

/// Whether the search found a layout, or was stopped before.
Status check_found(const Plan& plan, const PlanSpace& space, const ModelSpec& model, std::uint32_t gpus,
                   Bytes capacity) {
  if (!plan.layouts.empty() || !plan.complete) return {};
  if (plan.least) return nothing_fits(*plan.least, capacity);
  return flag_error("--global-batch",
                    fmt::format("no layout divides {} GPUs, the {} layers and {} heads of {} and a global batch of {} "
                                "within the space asked for; change one of them",
                                gpus, model.layers, model.heads, model.name, space.base.global_batch));
}

/// A search on an opened machine with `capacity` per GPU, which may find nothing.
/// `others`: the same machine, opened for further threads. `go_on(timed, progress)` is asked before each layout.
Result<Plan> search_all(const TrainRun& machine, std::uint32_t gpus, const PlanSpace& space, Bytes capacity, GoOn go_on,
                        const std::vector<TrainRun>& others = {}, std::size_t rows = 0) {
  const ModelSpec& model = machine.scenario.model;
  CallFloors floors(*machine.machine);
  PlanAsk search;
  search.gpus = gpus;
  search.capacity = capacity;
  search.rows = rows;
  search.close = machine.band.layouts_percent / 100;
  std::size_t timed = 0;
  search.time = [&](const LayoutSpec& layout) {
    ++timed;
    return step_with(machine, layout);
  };
  search.go_on = [&](const PlanProgress& p) { return go_on(timed, p); };
  std::vector<std::unique_ptr<CallFloors>> floors_of_others;
  for (const TrainRun& other : others) {
    floors_of_others.push_back(std::make_unique<CallFloors>(*other.machine));
    search.others.push_back(
        {floors_of_others.back().get(), [&other](const LayoutSpec& layout) { return step_with(other, layout); }});
  }
  return search_plan(space, model, machine.kernels, floors, search);
}

/// The same; without a batch, with the usual one. Finding nothing is an error.
Result<Plan> search_on(const TrainRun& machine, std::uint32_t gpus, PlanSpace space, Bytes capacity, GoOn go_on,
                       const std::vector<TrainRun>& others = {}) {
  fill_batch(space.base, machine.scenario.model, gpus);
  BUSBAR_ASSIGN(Plan plan, search_all(machine, gpus, space, capacity, std::move(go_on), others));
  BUSBAR_RETURN_IF_ERROR(check_found(plan, space, machine.scenario.model, gpus, capacity));
  return plan;
}

/// Those that no other beats in both time and memory, the fastest first.
std::vector<PlannedLayout> front_of(std::vector<PlannedLayout> layouts) {
  const auto memory = [](const PlannedLayout& l) { return count(l.memory.total()); };
  std::stable_sort(layouts.begin(), layouts.end(), [&](const PlannedLayout& a, const PlannedLayout& b) {
    return std::pair(a.step.step_time, memory(a)) < std::pair(b.step.step_time, memory(b));
  });
  std::vector<PlannedLayout> out;
  for (PlannedLayout& l : layouts)
    if (out.empty() || memory(l) < memory(out.back())) out.push_back(std::move(l));
  return out;
}

/// Sets run.front. `whole`: searches again and again with the memory of the best over kFrontSlack, until nothing fits.
Status find_front(PlanRun& run, const PlanSpace& space, bool whole, const GoOn& go_on,
                  const std::vector<TrainRun>& others) {
  std::vector<PlannedLayout> timed = run.plan.layouts;
  const std::uint32_t gpus = run.machine.gpus;
  bool more = whole && run.plan.complete;
  for (std::size_t best = 0; more;) {
    const double least = static_cast<double>(count(timed[best].memory.total()));
    Result<Plan> plan =
        search_on(run.machine, gpus, space, Bytes{static_cast<std::uint64_t>(least / kFrontSlack)}, go_on, others);
    if (!plan.ok() && plan.error().code != ErrorCode::kDoesNotFit) {
      if (go_on(0, {})) return plan.error();
      break;  // interrupted: the front so far
    }
    run.front_proven = !plan.ok();
    more = plan.ok() && plan->complete;
    best = timed.size();
    if (plan.ok())
      for (PlannedLayout& l : plan->layouts) timed.push_back(std::move(l));
  }
  run.front = front_of(std::move(timed));
  return {};
}

/// Only of a few ties, because each of them takes a program.
Status find_ties(PlanRun& run) {
  const std::vector<PlannedLayout>& all = run.plan.layouts;  // the fastest first
  const Catalog catalog(run.machine.scenario.cluster_overrides.catalog);
  BUSBAR_ASSIGN(const AccuracyTable accuracy, AccuracyTable::load(catalog));
  for (std::size_t i = 1; i < all.size() && all[i].step.step_time.in_s() < run.tie_s(); ++i) {
    run.tied.emplace_back();
    if (i >= kCompared) continue;
    BUSBAR_ASSIGN(run.tied.back(), tie_measurement(run.machine, accuracy, all.front(), all[i]));
  }
  return {};
}

}  // namespace

Result<PlanSpace> read_space(const PlanLists& lists, LayoutSpec base) {
  constexpr std::uint32_t kMost = 1u << 24;
  PlanSpace space;
  if (base.layers_per_chunk > 0)
    return invalid("a search chooses vpp; leave this out, or write --vpp", base.place("layers_per_chunk"));
  space.base = std::move(base);
  BUSBAR_RETURN_IF_ERROR(read_numbers("--tp", lists.tp, 1, kMost, space.tp));
  BUSBAR_RETURN_IF_ERROR(read_numbers("--pp", lists.pp, 1, kMost, space.pp));
  BUSBAR_RETURN_IF_ERROR(read_numbers("--vpp", lists.vpp, 1, kMost, space.vpp));
  BUSBAR_RETURN_IF_ERROR(read_numbers("--dp", lists.dp, 1, kMost, space.dp));
  BUSBAR_RETURN_IF_ERROR(read_numbers("--cp", lists.cp, 1, kMost, space.cp));
  BUSBAR_RETURN_IF_ERROR(read_numbers("--ep", lists.ep, 1, kMost, space.ep));
  BUSBAR_RETURN_IF_ERROR(read_numbers("--micro-batch", lists.micro_batch, 1, kMost, space.micro_batch));
  BUSBAR_RETURN_IF_ERROR(read_numbers("--zero", lists.zero, 0, 3, space.zero));
  BUSBAR_RETURN_IF_ERROR(read_words("--recompute", lists.recompute, space.recompute));
  BUSBAR_RETURN_IF_ERROR(read_words("--schedule", lists.schedule, space.schedule));
  BUSBAR_RETURN_IF_ERROR(read_orders(lists.order, space.order));
  return space;
}

namespace {

/// Times the layout that needs least, and tries what would make one fit.
Result<PlanRun> nothing_planned(PlanRun run, const PlanSpace& space, const TrainAsk& ask) {
  PlannedLayout& least = *run.plan.least;
  BUSBAR_ASSIGN(least.step, step_with(run.machine, least.layout));
  BUSBAR_ASSIGN(run.would_fit, searches_that_fit(run.machine, ask, space));
  run.status = 1;
  return run;
}

}  // namespace

Result<PlanRun> run_plan(StepRequest request, Scenario scenario, const PlanLists& lists, const TrainAsk& ask,
                         const PlanEffort& effort) {
  BUSBAR_ASSIGN(PlanSpace space, read_space(lists, scenario.layout));
  PlanRun run{.machine = {}, .request = std::move(request), .plan = {}};
  BUSBAR_ASSIGN(run.machine, open_train(scenario, ask));
  std::vector<TrainRun> others(effort.threads - 1);
  for (TrainRun& other : others) {
    BUSBAR_ASSIGN(other, open_train(scenario, ask));
  }
  fill_batch(space.base, run.machine.scenario.model, run.machine.gpus);
  if (run.machine.gpus < run.machine.cluster().topology.gpus().size()) run.request.gpus = run.machine.gpus;
  run.capacity = gpu_memory(run.machine.cluster().topology);
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  LongRun watch("layouts");
  const auto go_on = [&](std::size_t timed, const PlanProgress& p) {  // how many are left is not known
    return watch.go_on_with(timed, [&] { return progress_words(p); }) &&
           (effort.within_s <= 0 || seconds() < effort.within_s);
  };
  BUSBAR_ASSIGN(run.plan, search_all(run.machine, run.machine.gpus, space, run.capacity, go_on, others, kCompared));
  if (run.plan.least) return nothing_planned(std::move(run), space, ask);
  BUSBAR_RETURN_IF_ERROR(check_found(run.plan, space, run.machine.scenario.model, run.machine.gpus, run.capacity));
  if (!run.plan.layouts.empty()) {
    BUSBAR_RETURN_IF_ERROR(find_front(run, space, effort.whole_front, go_on, others));
    BUSBAR_RETURN_IF_ERROR(find_ties(run));
    run.seconds = seconds();
    run.status = watch.status();
    return run;
  }
  return flag_error("--within", "too short to find a layout that fits; allow more time or name degrees: --tp 8");
}

std::string progress_words(const PlanProgress& p) {
  if (p.best == Duration::max()) return " timed; looking for one that fits";
  const std::string best = fmt::format(" timed, the best takes {}", format_duration(p.best.in_s()));
  if (p.bound >= p.best) return best + ": proven; timing others that may tie";
  return fmt::format("{}; at most {:.2g} % less is possible", best, 100 * (1 - p.bound.in_s() / p.best.in_s()));
}

bool names_a_layout(const LayoutSpec& layout) {
  constexpr const char* kSearched[] = {"tp", "pp",          "vpp",  "dp",        "cp",
                                       "ep", "micro_batch", "zero", "recompute", "schedule"};
  return std::any_of(std::begin(kSearched), std::end(kSearched),
                     [&](const char* key) { return layout.places.contains(key); });
}

std::string DefaultPlan::flags() const {
  const bool typed = layout.places.contains("global_batch");
  return layout_flags(layout) + (typed ? "" : fmt::format(" --global-batch {}", layout.global_batch));
}

Result<DefaultPlan> plan_default(const TrainRun& machine) {
  const ModelSpec& model = machine.scenario.model;
  const std::uint32_t gpus = machine.gpus;
  LayoutSpec asked = machine.scenario.layout;
  fill_batch(asked, model, gpus);
  Result<LayoutSpec> usual = resolve_layout(asked, model, gpus);
  Status usable = usual.ok() ? check_fits(memory_use(model, *usual), gpu_memory(machine.cluster().topology))
                             : Status(usual.error());
  if (usable.ok()) return DefaultPlan{std::move(*usual), ""};
  PlanSpace space;
  space.base = asked;
  space.schedule = {PipelineSchedule::k1F1B};  // that every framework has
  LongRun watch("layouts");
  const std::size_t most = most_timed_by_default(gpus, asked);
  Result<Plan> plan =
      search_all(machine, gpus, space, gpu_memory(machine.cluster().topology),
                 [&](std::size_t timed, const auto&) { return watch.go_on(timed, most) && timed < most; });
  if (!plan.ok()) return usual.ok() ? plan.error() : usable.error();
  const std::string why = usable.error().message, because = why.substr(0, std::min(why.find(": "), why.find("; ")));
  if (plan->least) return DefaultPlan{std::move(plan->least->layout), because, true};
  if (plan->layouts.empty()) return usable.error();  // interrupted
  return DefaultPlan{std::move(plan->layouts.front().layout), because};
}

Result<LayoutSpec> plan_briefly(const TrainRun& machine, std::uint32_t gpus, std::size_t timed,
                                const std::function<bool()>& go_on) {
  PlanSpace space;
  space.base = machine.scenario.layout;
  space.schedule = {PipelineSchedule::k1F1B};
  BUSBAR_ASSIGN(PlannedLayout best, plan_fastest(machine, gpus, space, timed, go_on));
  return std::move(best.layout);
}

Result<PlannedLayout> plan_fastest(const TrainRun& machine, std::uint32_t gpus, const PlanSpace& space,
                                   std::size_t timed, const std::function<bool()>& go_on) {
  BUSBAR_ASSIGN(Plan plan, search_on(machine, gpus, space, gpu_memory(machine.cluster().topology),
                                     [&](std::size_t so_far, const auto&) { return so_far < timed && go_on(); }));
  if (plan.layouts.empty()) return invalid("interrupted before a layout was timed");
  return std::move(plan.layouts.front());
}

Result<TrainRun> run_without_layout(Scenario scenario, const TrainAsk& ask) {
  BUSBAR_ASSIGN(TrainRun run, open_train(std::move(scenario), ask));
  BUSBAR_ASSIGN(const DefaultPlan plan, plan_default(run));
  run.layout = plan.layout;
  if (plan.none_fits) run.none_fits = run.scenario.layout;
  if (!plan.because.empty()) {
    run.scenario.layout = plan.layout;
    run.planned_because = plan.because;
    run.planned_flags = plan.flags();
  }
  BUSBAR_RETURN_IF_ERROR(predict_train(run, ask));
  return run;
}

Result<TrainRun> run_named_step(Scenario scenario, const TrainAsk& ask, bool open) {
  const NamedTask task("timing the step on " + scenario.cluster);
  return open ? run_without_layout(std::move(scenario), ask) : step::predict(std::move(scenario), ask);
}

std::string why_lost(const PlannedLayout& l, const PlannedLayout& best) {
  const auto mine = breakdown_rows(l.step.breakdown), its = breakdown_rows(best.step.breakdown);
  std::size_t worst = 0;
  for (std::size_t i = 1; i < mine.size(); ++i)
    if (mine[i].second - its[i].second > mine[worst].second - its[worst].second) worst = i;
  const Duration more = mine[worst].second - its[worst].second;
  if (more <= Duration()) return "";
  std::string part = mine[worst].first;
  if (part.starts_with("exposed_")) {
    part = part.substr(8);
    for (char& c : part) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    part = "exposed " + part;
  }
  return fmt::format("{} more of {}", format_duration(more.in_s()), part);
}

}  // namespace busbar
