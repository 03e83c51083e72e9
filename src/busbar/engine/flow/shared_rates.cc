#include "busbar/engine/flow/internal/shared_rates.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace busbar {

SharedRates::SharedRates(StageSolver& solver, const CapacityTable& table) : solver_(solver), table_(table) {}

std::span<const double> SharedRates::of(std::span<const Member> group) {
  constexpr std::size_t kMostKept = 1 << 20;  // 8 MiB
  if (kept_ > kMostKept) groups_.clear(), known_.clear(), unknown_.clear(), equations_.clear(), oldest_ = kept_ = 0;
  list(group);
  const auto [entry, fresh] = groups_.try_emplace(ids_);
  KnownGroup& known_group = entry->second;
  if (fresh) known_group.number = static_cast<std::uint32_t>(groups_.size());
  const std::uint64_t whole = std::uint64_t{known_group.number} << 32;
  if (known_group.parts.rows() == 0) {
    const bool new_to_us = shortcuts().has(Shortcut::kPartsOfASharingGroup) && known(whole, all_) == nullptr;
    if (new_to_us && known_group.again) find_parts(group, known_group);
    known_group.again = true;
  }
  if (known_group.parts.rows() == 0) solve(group, whole, all_);
  for (std::uint32_t p = 0; p < known_group.parts.rows(); ++p) solve(group, whole + 1 + p, known_group.parts.row(p));
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
  all_.resize(places_.size());
  std::iota(all_.begin(), all_.end(), 0u);
  rate_.resize(places_.size());
}

/// As the components of a stage of all fluids together.
void SharedRates::find_parts(std::span<const Member> group, KnownGroup& known_group) {
  Stage together;
  for (const Member& m : group) {
    const auto begin = static_cast<std::uint32_t>(together.on.size());
    together.on.insert(together.on.end(), m.stage->on.begin(), m.stage->on.end());
    for (Fluid f : m.stage->fluids) {
      f.begin += begin, f.end += begin;
      together.fluids.push_back(f);
    }
  }
  shortcuts().take(Shortcut::kPartsOfASharingGroup);
  if (!std::exchange(sized_, true)) splitter_.resize(table_.counts());
  splitter_.split(together, nullptr);
  for (const Component& c : together.components) {
    known_group.parts.values.insert(known_group.parts.values.end(), together.members.begin() + c.begin,
                                    together.members.begin() + c.end);
    known_group.parts.close_row();
  }
  kept_ += together.members.size();
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

/// Of the open fluids of the part, or of all, solved without what is kept.
std::span<const double> SharedRates::fresh_rates(std::span<const Member> group, std::span<const std::uint32_t> row,
                                                 bool all) {
  solver_.begin(all ? StageSolver::Rates::kNew : StageSolver::Rates::kAsBefore);
  const auto rate_of = [&](CapacityId c) { return table_.rate(c); };
  for (const std::uint32_t i : row)
    if (all || places_[i].open) solver_.add(*group[places_[i].member].stage, places_[i].fluid, rate_of);
  return solver_.solve();
}

/// Of the open fluids of the part, by its equations once they have been wanted a few times.
std::span<const double> SharedRates::rates_of_open(std::span<const Member> group, std::uint64_t part,
                                                   std::span<const std::uint32_t> row) {
  constexpr std::uint32_t kOften = 3;
  constexpr std::size_t kMostEquations = 16;
  if (row.size() < 64 || ++unknown_[part] < kOften || !shortcuts().take(Shortcut::kRatesAfterAnEnd))
    return fresh_rates(group, row, false);
  auto at = std::find_if(equations_.begin(), equations_.end(), [&](const Equations& e) { return e.part == part; });
  if (at == equations_.end()) {
    fresh_rates(group, row, true);
    if (equations_.size() < kMostEquations) equations_.emplace_back();
    at = equations_.begin() + static_cast<std::ptrdiff_t>(oldest_++ % kMostEquations);
    *at = {part, solver_.solver()};
  }
  at->solver.reopen();
  for (std::uint32_t f = 0; f < row.size(); ++f)
    if (!places_[row[f]].open) at->solver.close(f);
  at->solver.solve_again();
  some_.clear();
  for (std::uint32_t f = 0; f < row.size(); ++f)
    if (places_[row[f]].open) some_.push_back(at->solver.rates()[f]);
  return some_;
}

/// Fills in the rates of the part's open fluids.
void SharedRates::solve(std::span<const Member> group, std::uint64_t part, std::span<const std::uint32_t> row) {
  const std::vector<double>* rates = known(part, row);
  if (!rates) {
    const auto found = rates_of_open(group, part, row);
    kept_ += key_.size() + found.size();
    rates = &known_.insert_or_assign(key_, std::vector<double>(found.begin(), found.end())).first->second;
  }
  std::size_t next = 0;
  for (const std::uint32_t i : row)
    if (places_[i].open) rate_[i] = (*rates)[next++];
}

}  // namespace busbar
