#include "busbar/engine/flow/internal/shared_rates.h"

#include <algorithm>
#include <utility>

#include "busbar/base/disjoint_sets.h"
#include "busbar/base/id.h"

namespace busbar {

SharedRates::SharedRates(StageSolver& solver, const CapacityTable& table)
    : solver_(solver), table_(table), over_kept_(solver.shortcuts()) {}

std::span<const double> SharedRates::of(std::span<const Member> group) {
  constexpr std::size_t kMostKept = 1 << 20;  // 8 MiB
  if (kept_ > kMostKept) groups_.clear(), known_.clear(), kept_ = 0;
  list(group);
  if (!shortcuts().take(Shortcut::kRatesAfterAnEnd)) return fresh_rates(group);
  const auto [entry, fresh] = groups_.try_emplace(ids_);
  KnownGroup& known_group = entry->second;
  if (fresh) {
    known_group.number = static_cast<std::uint32_t>(groups_.size());
    keep_links(group, known_group);
    find_parts(known_group);
  }
  rate_ = known_group.lone_rate;
  for (std::uint32_t p = 0; p < known_group.parts.rows(); ++p) solve_part(group, known_group, p);
  out_.clear();
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (places_[i].open) out_.push_back(rate_[i]);
  return out_;
}

/// All fluids of the group, in order.
void SharedRates::list(std::span<const Member> group) {
  ids_.clear(), places_.clear();
  for (std::uint32_t m = 0; m < group.size(); ++m) {
    ids_.push_back(group[m].stage_id);
    for (std::uint32_t f = 0; f < group[m].left.size(); ++f) places_.push_back({m, f, group[m].left[f] > 0});
  }
}

/// The links that can be full with all fluids of the group.
void SharedRates::keep_links(std::span<const Member> group, KnownGroup& known_group) {
  solver_.begin(StageSolver::Rates::kAsBefore);
  for (const Place& p : places_)
    solver_.add(*group[p.member].stage, p.fluid, [&](CapacityId c) { return table_.rate(c); });
  const MaxMinSolver& reduced = solver_.reduce();
  known_group.capacity.assign(reduced.row_capacities().begin(), reduced.row_capacities().end());
  for (std::uint32_t i = 0; i < places_.size(); ++i) {
    const auto on = reduced.rows_of(i);
    const auto weight = reduced.weights_of(i);
    known_group.on.values.insert(known_group.on.values.end(), on.begin(), on.end());
    known_group.on.close_row();
    known_group.weight.insert(known_group.weight.end(), weight.begin(), weight.end());
    double rate = group[places_[i].member].stage->fluids[places_[i].fluid].cap();
    for (std::size_t k = 0; k < on.size(); ++k) rate = std::min(rate, known_group.capacity[on[k]] / weight[k]);
    known_group.lone_rate.push_back(rate);
  }
  kept_ += 2 * known_group.weight.size();
}

/// Sets of fluids that share kept links. All fluids are one part where parts are not to be taken.
void SharedRates::find_parts(KnownGroup& known_group) {
  const auto n = static_cast<std::uint32_t>(places_.size());
  const bool apart = shortcuts().take(Shortcut::kPartsOfASharingGroup);
  DisjointSets sets(n);
  std::vector<std::uint32_t> first(known_group.capacity.size(), kNone32);  // fluid on a link
  for (std::uint32_t f = 0; f < n; ++f) {
    if (!apart) sets.join(0, f);
    for (const std::uint32_t l : known_group.on.row(f)) {
      if (first[l] == kNone32) first[l] = f;
      sets.join(first[l], f);
    }
  }
  std::vector<std::vector<std::uint32_t>> members(n);
  for (std::uint32_t f = 0; f < n; ++f) members[sets.find(f)].push_back(f);
  for (const std::vector<std::uint32_t>& part : members) {
    if (part.empty() || (apart && part.size() == 1)) continue;
    for (const std::uint32_t f : part) known_group.lone_rate[f] = 0;
    known_group.parts.values.insert(known_group.parts.values.end(), part.begin(), part.end());
    known_group.parts.close_row();
  }
}

/// Leaves its key in key_.
const std::vector<double>* SharedRates::known(std::uint64_t part, std::span<const std::uint32_t> row) {
  key_.assign(1, part);
  std::uint64_t open = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    open |= std::uint64_t{places_[row[i]].open} << (i % 64);
    if (i % 64 == 63 || i + 1 == row.size()) key_.push_back(std::exchange(open, 0));
  }
  const auto found = known_.find(key_);
  return found == known_.end() || !shortcuts().take(Shortcut::kKeptRates) ? nullptr : &found->second;
}

/// Of the open fluids of the group, over all their links.
std::span<const double> SharedRates::fresh_rates(std::span<const Member> group) {
  solver_.begin(StageSolver::Rates::kAsBefore);
  for (const Place& p : places_)
    if (p.open) solver_.add(*group[p.member].stage, p.fluid, [&](CapacityId c) { return table_.rate(c); });
  return solver_.solve();
}

/// Of the open fluids of the part, over the kept links.
std::span<const double> SharedRates::kept_rates(std::span<const Member> group, const KnownGroup& known_group,
                                                std::span<const std::uint32_t> row) {
  over_kept_.clear();
  for (const std::uint32_t i : row) {
    const auto& [member, fluid, open] = places_[i];
    const std::span<const std::uint32_t> on = known_group.on.row(i);
    const auto weight = std::span(known_group.weight).subspan(known_group.on.begin[i], on.size());
    if (open) over_kept_.add_fluid(on, weight, group[member].stage->fluids[fluid].cap());
  }
  over_kept_.solve(known_group.capacity);
  return over_kept_.rates();
}

/// Fills in the rates of the part's open fluids.
void SharedRates::solve_part(std::span<const Member> group, const KnownGroup& known_group, std::uint32_t part) {
  const std::span<const std::uint32_t> row = known_group.parts.row(part);
  const std::vector<double>* rates = known(std::uint64_t{known_group.number} << 32 | part, row);
  if (!rates) {
    const auto found = kept_rates(group, known_group, row);
    kept_ += key_.size() + found.size();
    rates = &known_.insert_or_assign(key_, std::vector<double>(found.begin(), found.end())).first->second;
  }
  std::size_t next = 0;
  for (const std::uint32_t i : row)
    if (places_[i].open) rate_[i] = (*rates)[next++];
}

}  // namespace busbar
