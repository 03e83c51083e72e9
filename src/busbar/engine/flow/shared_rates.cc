#include "busbar/engine/flow/internal/shared_rates.h"

#include <algorithm>
#include <utility>

#include "busbar/base/disjoint_sets.h"
#include "busbar/base/id.h"

namespace busbar {

SharedRates::SharedRates(StageSolver& solver, const CapacityTable& table)
    : solver_(solver), table_(table), links_(solver, table), kept_rates_(solver.shortcuts()) {}

std::span<const double> SharedRates::of(std::span<const Member> group) {
  constexpr std::size_t kMostKept = 1 << 20;  // 8 MiB
  if (kept_ + links_.kept() > kMostKept)
    groups_.clear(), known_.clear(), with_links_.clear(), links_.forget(), kept_ = oldest_ = 0;
  list(group);
  if (!shortcuts().take(Shortcut::kRatesAfterAnEnd)) return fresh_rates(group);
  const auto [entry, fresh] = groups_.try_emplace(ids_);
  KnownGroup& known_group = entry->second;
  if (fresh) find_larger(known_group);
  if (fresh && known_group.larger == nullptr) {
    known_group.number = static_cast<std::uint32_t>(groups_.size());
    keep_links(group, known_group);
  }
  const KnownGroup& kept = known_group.larger ? *known_group.larger : known_group;
  const auto place = [&](std::size_t i) { return known_group.larger ? known_group.at[i] : i; };
  rate_ = kept.lone_rate;
  place_open_.assign(rate_.size(), false);
  for (std::size_t i = 0; i < places_.size(); ++i) place_open_[place(i)] = places_[i].open;
  for (std::size_t p = 0; p < kept.parts.size(); ++p) solve(std::uint64_t{kept.number} << 32 | p, kept.parts[p]);
  out_.clear();
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (places_[i].open) out_.push_back(rate_[place(i)]);
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

/// Among the last few groups that keep links the smallest that has all stages of this one, if it has at most twice as
/// many fluids.
void SharedRates::find_larger(KnownGroup& known_group) const {
  std::size_t least = 2 * places_.size() + 1;
  for (const KnownGroup* g : with_links_) {
    if (g->lone_rate.size() >= least) continue;
    auto next = ids_.begin();
    for (const std::uint32_t id : g->ids)
      if (next != ids_.end() && *next == id) ++next;
    if (next == ids_.end()) known_group.larger = g, least = g->lone_rate.size();
  }
  if (known_group.larger == nullptr) return;
  std::uint32_t member = kNone32, in_larger = kNone32;
  for (const Place& p : places_) {
    if (p.member != member) {
      do ++in_larger;
      while (known_group.larger->ids[in_larger] != ids_[p.member]);
      member = p.member;
    }
    known_group.at.push_back(known_group.larger->first[in_larger] + p.fluid);
  }
}

/// The links that can be full with all fluids of the group.
void SharedRates::keep_links(std::span<const Member> group, KnownGroup& known_group) {
  std::vector<GroupLinks::Member> members;
  for (const Member& m : group) members.push_back({m.stage_id, m.stage});
  const MaxMinSolver& reduced = links_.reduce(members);
  known_group.lone_rate.assign(places_.size(), 0.0);
  known_group.ids = ids_;
  for (std::uint32_t m = 0, first = 0; m < group.size(); first += static_cast<std::uint32_t>(group[m++].left.size()))
    known_group.first.push_back(first);
  constexpr std::size_t kMostCompared = 32;
  if (with_links_.size() < kMostCompared) with_links_.push_back(nullptr);
  with_links_[oldest_++ % kMostCompared] = &known_group;
  number_.resize(std::max(number_.size(), reduced.row_capacities().size()), kNone32);
  for (std::vector<std::uint32_t>& set : sets_that_share(reduced)) {
    std::vector<double> caps;
    for (const std::uint32_t i : set) caps.push_back(cap_of(group, places_[i]));
    KeptFluids fluids(reduced, set, std::move(caps), number_);
    kept_ += 3 * fluids.weight.size();
    if (set.size() == 1) {
      open_.assign(1, 1);
      known_group.lone_rate[set[0]] = kept_rates_.of(fluids, open_)[0];
      continue;
    }
    known_group.parts.push_back({std::move(set), std::move(fluids)});
  }
}

/// Of places_, by the links that are left. One set where parts are not to be taken.
std::vector<std::vector<std::uint32_t>> SharedRates::sets_that_share(const MaxMinSolver& reduced) {
  const auto n = static_cast<std::uint32_t>(places_.size());
  const bool apart = shortcuts().take(Shortcut::kPartsOfASharingGroup);
  DisjointSets sets(n);
  std::vector<std::uint32_t> first(reduced.row_capacities().size(), kNone32);  // fluid on a link
  for (std::uint32_t f = 0; f < n; ++f) {
    if (!apart) sets.join(0, f);
    for (const std::uint32_t l : reduced.rows_of(f)) {
      if (first[l] == kNone32) first[l] = f;
      sets.join(first[l], f);
    }
  }
  std::vector<std::vector<std::uint32_t>> members(n);
  for (std::uint32_t f = 0; f < n; ++f) members[sets.find(f)].push_back(f);
  std::erase_if(members, [](const auto& set) { return set.empty(); });
  return members;
}

/// Leaves its key in key_.
const std::vector<double>* SharedRates::known(std::uint64_t part, std::span<const std::uint32_t> places) {
  key_.assign(1, part);
  std::uint64_t open = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    open |= std::uint64_t{place_open_[places[i]]} << (i % 64);
    if (i % 64 == 63 || i + 1 == places.size()) key_.push_back(std::exchange(open, 0));
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
std::span<const double> SharedRates::kept_rates(const Part& part) {
  open_.clear();
  for (const std::uint32_t i : part.places) open_.push_back(place_open_[i]);
  return kept_rates_.of(part.fluids, open_);
}

/// Fills in the rates of the part's open fluids.
void SharedRates::solve(std::uint64_t number, const Part& part) {
  if (std::ranges::none_of(part.places, [&](std::uint32_t i) { return place_open_[i]; })) return;
  const std::vector<double>* rates = known(number, part.places);
  if (!rates) {
    const auto found = kept_rates(part);
    kept_ += key_.size() + found.size();
    rates = &known_.insert_or_assign(key_, std::vector<double>(found.begin(), found.end())).first->second;
  }
  std::size_t next = 0;
  for (const std::uint32_t i : part.places)
    if (place_open_[i]) rate_[i] = (*rates)[next++];
}

}  // namespace busbar
