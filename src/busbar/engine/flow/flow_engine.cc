#include "busbar/engine/flow/internal/flow_engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "busbar/engine/flow/internal/shared_split.h"

namespace busbar::engine {

FlowEngine::FlowEngine(const routing::Router& router, const routing::Placement& placement, const EngineOptions& options)
    : calls_(router, placement, options),
      shared_(calls_.solver(), calls_.lowering().capacities(), !calls_.lowering().splits()) {}

Result<program::CallId> FlowEngine::prepare(const program::CollectiveCall& call) {
  BUSBAR_ASSIGN(const program::CallId id, calls_.prepare(call));
  if (index(id) < known_.size()) return id;
  const lowering::LoweredCall& lowered = calls_.lowered(id);
  Known known;
  known.stage_ps = calls_.like(id) == id ? calls_.flow_stage_ps(lowered) : known_[index(calls_.like(id))].stage_ps;
  if (calls_.interrupted()) return interrupted();
  double ps = lowered.launch_ps;
  for (const double s : known.stage_ps) ps += s;
  known.alone = duration_from_ps(ps);
  for (const lowering::Stage& stage : lowered.stages) known.stage_id.push_back(number_stage(stage, true));
  known_.push_back(std::move(known));
  return id;
}

std::uint32_t FlowEngine::number_stage(const lowering::Stage& stage, bool stays) {
  stage_links_.push_back(stays ? std::vector<Word>() : words_of(stage));
  unasked_.push_back(stays ? &stage : nullptr);
  return static_cast<std::uint32_t>(stage_links_.size() - 1);
}

const std::vector<FlowEngine::Word>& FlowEngine::links_of(std::uint32_t id) {
  if (const lowering::Stage* stage = std::exchange(unasked_[id], nullptr)) stage_links_[id] = words_of(*stage);
  return stage_links_[id];
}

/// The links of a stage as a sparse bit set.
std::vector<FlowEngine::Word> FlowEngine::words_of(const lowering::Stage& stage) {
  const routing::CapacityCounts capacities = calls_.lowering().capacities().counts();
  word_.resize((capacities.size() + 63) / 64, 0);
  std::vector<Word> words;
  for (const routing::CapacityId c : stage.on) {
    const std::uint32_t place = capacities.place(c);
    std::uint64_t& bits = word_[place / 64];
    if (bits == 0) words.push_back({place / 64, 0});
    bits |= std::uint64_t{1} << (place % 64);
  }
  std::sort(words.begin(), words.end(), [](const Word& a, const Word& b) { return a.at < b.at; });
  for (Word& w : words) w.bits = std::exchange(word_[w.at], 0);
  return words;
}

bool FlowEngine::apart(program::CallId a, program::CallId b) {
  for (const std::uint32_t i : known_[index(a)].stage_id)
    for (const std::uint32_t j : known_[index(b)].stage_id)
      if (contend(i, j)) return false;
  return true;
}

/// Whether two stages share a link, asked for the first time. Pre: i >= j.
bool FlowEngine::find_contention(std::uint32_t i, std::uint32_t j) {
  const bool shared = share_a_link(i, j);
  if (!calls_.shortcuts().take(Shortcut::kKeptContention)) return shared;
  if (contend_.size() <= i) contend_.resize(std::size_t{i} + 1);
  std::vector<Contention>& row = contend_[i];
  if (row.size() <= j) row.resize(std::size_t{j} + 1, Contention::kUnknown);
  row[j] = shared ? Contention::kYes : Contention::kNo;
  return shared;
}

bool FlowEngine::share_a_link(std::uint32_t i, std::uint32_t j) {
  const std::vector<Word>&x = links_of(i), &y = links_of(j);
  for (std::size_t u = 0, v = 0; u < x.size() && v < y.size();) {
    if (x[u].at == y[v].at) {
      if ((x[u++].bits & y[v++].bits) != 0) return true;
    } else if (x[u].at < y[v].at) {
      ++u;
    } else {
      ++v;
    }
  }
  return false;
}

void FlowEngine::schedule(std::uint32_t r, SimTime at) {
  Run& run = runs_[r];
  events_.push({at, run.sequence, r, ++run.generation});
}

void FlowEngine::start(program::CallId call, std::uint64_t tag, SimTime at) {
  std::uint32_t r = 0;
  if (free_.empty()) {
    r = static_cast<std::uint32_t>(runs_.size());
    runs_.emplace_back();
  } else {
    r = free_.back();
    free_.pop_back();
  }
  Run& run = runs_[r];
  run.call = call;
  run.tag = tag;
  run.sequence = sequence_++;
  run.stage = 0;
  run.active = true;
  run.in_stage = run.shared = false;
  run.origin = at;
  run.offset_ps = calls_.lowered(call).launch_ps;
  ++known_[index(call)].starts;
  schedule(r, at + duration_from_ps(run.offset_ps));
}

/// The runs in a stage that contend with `r`, directly or through others, `r` included.
void FlowEngine::find_group(std::uint32_t r) {
  group_.assign(1, r);
  grow_group();
}

/// Takes in the runs that contend with those of the sharing group.
void FlowEngine::grow_group() {
  for (const std::uint32_t r : group_) runs_[r].grouped = true;
  for (std::size_t head = 0; head < group_.size(); ++head) {
    const std::uint32_t stage = stage_id(runs_[group_[head]]);
    for (const std::uint32_t other : in_stage_)
      if (!runs_[other].grouped && contend(stage, stage_id(runs_[other]))) {
        runs_[other].grouped = true;
        group_.push_back(other);
      }
  }
  for (const std::uint32_t r : group_) runs_[r].grouped = false;
  std::sort(group_.begin(), group_.end(), [&](auto a, auto b) {
    return std::pair(runs_[a].call, runs_[a].sequence) < std::pair(runs_[b].call, runs_[b].sequence);
  });
}

/// Turns a run that went by its known time into its fluids, as they stand at `at`.
void FlowEngine::share(Run& run, SimTime at) {
  run.split = nullptr;
  shared_.add(own_stage_id(run), own_stage(run));
  const lowering::Stage& stage = stage_of(run);
  run.left.resize(stage.fluids.size());
  run.rate.assign(stage.fluids.size(), 0.0);
  run.shared = true;
  run.updated = at;
  const auto elapsed = static_cast<double>((at - run.began).in_ps());
  if (elapsed == 0) {
    for (std::size_t f = 0; f < run.left.size(); ++f) run.left[f] = stage.fluids[f].bytes;
    return;
  }
  std::vector<std::vector<double>> of_kind(stage.components.size());
  for (std::uint32_t c = 0; c < stage.components.size(); ++c) {
    const lowering::Component& component = stage.components[c];
    if (component.like == c)
      run_component(calls_.solver(), calls_.lowering().capacities(), stage, component, elapsed, &of_kind[c]);
    for (std::uint32_t m = component.begin; m < component.end; ++m)
      run.left[stage.members[m]] = of_kind[component.like][m - component.begin];
  }
}

/// Counts what the fluids of `run` carried in that time on the links of its split instead of its own links.
void FlowEngine::count_split(const Run& run, double elapsed_ps) {
  moved_.resize(calls_.topology().link_count(), 0.0);
  const auto add = [&](const lowering::Stage& stage, double sign) {
    for (std::size_t f = 0; f < run.left.size(); ++f) {
      const double bytes = sign * std::min(run.left[f], run.rate[f] * elapsed_ps);
      for (std::uint32_t i = stage.fluids[f].begin; i < stage.fluids[f].end; ++i)
        if (stage.on[i].is_link()) moved_[index(stage.on[i].link())] += bytes * stage.weight[i];
    }
  };
  add(run.split->stage, 1);
  add(own_stage(run), -1);
}

void FlowEngine::progress(Run& run, SimTime at) {
  const lowering::Stage& stage = stage_of(run);
  const auto elapsed = static_cast<double>((at - run.updated).in_ps());
  if (run.split) count_split(run, elapsed);
  for (std::size_t f = 0; f < run.left.size(); ++f) {
    run.left[f] -= run.rate[f] * elapsed;
    if (run.left[f] <= 1e-9 * stage.fluids[f].bytes) run.left[f] = 0;  // round-off of one part in 1e9 is an end
  }
  run.updated = at;
}

/// The rates of the open fluids of the sharing group, run by run.
std::span<const double> FlowEngine::group_rates() {
  kept_rates_.begin(shared_.version());
  for (const std::uint32_t r : group_) kept_rates_.add(stage_id(runs_[r]), runs_[r].left);
  std::vector<double>& known = kept_rates_.of_group();
  if (known.empty()) return kept_rates_.keep(known, solve_rates());
  return known;
}

std::span<const double> FlowEngine::solve_rates() {
  StageSolver& solver = calls_.solver();
  const lowering::CapacityTable& table = calls_.lowering().capacities();
  solver.begin(StageSolver::Rates::kAsBefore);
  for (const std::uint32_t r : group_)
    for (std::uint32_t f = 0; f < runs_[r].left.size(); ++f)
      if (runs_[r].left[f] > 0) solver.add(stage_of(runs_[r]), f, [&](routing::CapacityId c) { return table.rate(c); });
  return solver.solve();
}

/// Every run of the sharing group as it stands at `at`, fluid by fluid.
void FlowEngine::bring_up(SimTime at) {
  for (const std::uint32_t r : group_) runs_[r].shared ? progress(runs_[r], at) : share(runs_[r], at);
}

/// How the stages of the sharing group are best split together; empty: each as it is.
const std::vector<FlowEngine::Split>& FlowEngine::splits_of_group() {
  std::vector<std::uint64_t> key;
  for (const std::uint32_t r : group_) key.push_back(own_stage_id(runs_[r]));
  if (!calls_.shortcuts().has(Shortcut::kKeptSplits)) key.push_back(~unkept_splits_++);  // no stage has such a number
  const auto [kept, fresh] = splits_.try_emplace(std::move(key));
  if (!fresh) calls_.shortcuts().take(Shortcut::kKeptSplits);
  if (!fresh || group_.size() == 1) return kept->second;
  std::vector<SharedStage> stages;
  for (const std::uint32_t r : group_) stages.push_back({&calls_.lowered(runs_[r].call).call, &own_stage(runs_[r])});
  for (lowering::Stage& stage : split_together(calls_.lowering(), stages)) {
    const std::uint32_t id = number_stage(stage, false);
    kept->second.push_back({std::move(stage), id});
  }
  return kept->second;
}

/// Splits the stages of the sharing group again, and once more whenever the new split makes them share links with other
/// runs.
void FlowEngine::split_group(SimTime at) {
  for (std::size_t before = 0; before < group_.size();) {
    before = group_.size();
    const std::vector<Split>& splits = splits_of_group();
    for (std::size_t i = 0; i < group_.size(); ++i) runs_[group_[i]].split = splits.empty() ? nullptr : &splits[i];
    grow_group();
    bring_up(at);
  }
}

/// Gives every open fluid of the sharing group its fair rate and schedules each run's next end of a fluid.
void FlowEngine::solve_group(SimTime at) {
  bring_up(at);
  if (calls_.lowering().splits()) split_group(at);
  const std::span<const double> rates = group_rates();
  std::size_t next = 0;
  for (const std::uint32_t r : group_) {
    Run& run = runs_[r];
    double soonest = INFINITY;
    for (std::uint32_t f = 0; f < run.left.size(); ++f) {
      run.rate[f] = run.left[f] > 0 ? rates[next++] : 0.0;
      if (run.left[f] > 0) soonest = std::min(soonest, run.left[f] / run.rate[f]);
    }
    schedule(r, at + (soonest < INFINITY ? duration_from_ps(soonest) : Duration()));
  }
}

void FlowEngine::begin_stage(std::uint32_t r, SimTime at) {
  if (!unsolved_.empty() && unsolved_at_ != at) settle();  // this one began in the past
  Run& run = runs_[r];
  run.began = at;
  run.stage_id = own_stage_id(run);
  run.in_stage = true;
  run.shared = false;
  in_stage_.push_back(r);
  unsolved_.push_back(r);
  unsolved_at_ = at;
}

/// Sets all stages going that began at one time: each on its own clock, or its sharing group once for all its runs.
void FlowEngine::settle() {
  for (const std::uint32_t r : unsolved_) {
    Run& run = runs_[r];
    if (run.shared) continue;  // in the sharing group of an earlier one
    find_group(r);
    if (group_.size() > 1 || !calls_.shortcuts().take(Shortcut::kRunsAlone)) {
      solve_group(unsolved_at_);
      continue;
    }
    run.offset_ps += known_[index(run.call)].stage_ps[run.stage];
    schedule(r, run.origin + duration_from_ps(run.offset_ps));
  }
  unsolved_.clear();
}

bool FlowEngine::end_stage(std::uint32_t r, SimTime at) {
  Run& run = runs_[r];
  if (run.in_stage) {
    std::erase(in_stage_, r);
    run.in_stage = false;
    run.split = nullptr;
    if (run.shared) {  // from here on its own clock again
      run.origin = at;
      run.offset_ps = 0;
    }
    ++run.stage;
  }
  if (run.stage < calls_.lowered(run.call).stages.size()) {
    begin_stage(r, at);
    return false;
  }
  run.active = false;
  ++run.generation;
  free_.push_back(r);
  return true;
}

std::optional<Finished> FlowEngine::advance(SimTime limit) {
  while (!calls_.interrupted()) {
    if (!unsolved_.empty() && (events_.empty() || events_.top().at > unsolved_at_)) settle();
    if (events_.empty() || events_.top().at > limit) break;
    const Event e = events_.top();
    events_.pop();
    Run& run = runs_[e.run];
    if (!run.active || run.generation != e.generation) continue;
    if (run.in_stage && run.shared) {
      find_group(e.run);
      progress(run, e.at);
      const bool over = std::all_of(run.left.begin(), run.left.end(), [](double left) { return left <= 0; });
      if (over) std::erase(group_, e.run), std::erase(in_stage_, e.run);
      solve_group(e.at);
      if (!over) continue;
    }
    const Finished done{run.tag, e.at};
    if (end_stage(e.run, e.at)) return done;
  }
  return std::nullopt;
}

std::vector<double> FlowEngine::link_bytes() const {
  std::vector<double> bytes(calls_.topology().link_count(), 0.0);
  for (std::uint32_t c = 0; c < known_.size(); ++c)
    calls_.add_link_bytes(static_cast<program::CallId>(c), known_[c].starts, bytes);
  for (std::size_t l = 0; l < moved_.size(); ++l) bytes[l] = std::max(0.0, bytes[l] + moved_[l]);
  return bytes;
}

std::unique_ptr<Engine> make_flow_engine(const routing::Router& router, const routing::Placement& placement,
                                         EngineOptions options) {
  return std::make_unique<FlowEngine>(router, placement, options);
}

}  // namespace busbar::engine
