#include "busbar/engine/flow/rally_rates.h"

#include <numeric>
#include <utility>

namespace busbar {

RallyRates::RallyRates(StageSolver& solver, const Lowering& lowering) : solver_(solver), lowering_(lowering) {}

std::span<const double> RallyRates::of(std::span<const Member> rally) {
  constexpr std::size_t kMostKept = 1 << 20;  // 8 MiB
  if (kept_ > kMostKept) meetings_.clear(), known_.clear(), kept_ = 0;
  list(rally);
  const auto [entry, fresh] = meetings_.try_emplace(ids_);
  Meeting& meeting = entry->second;
  if (fresh) meeting.number = static_cast<std::uint32_t>(meetings_.size());
  const std::uint64_t whole = std::uint64_t{meeting.number} << 32;
  if (meeting.parts.rows() == 0) {
    const bool new_to_us = known(whole, all_) == nullptr;
    if (new_to_us && meeting.again) find_parts(rally, meeting);
    meeting.again = true;
  }
  if (meeting.parts.rows() == 0) solve(rally, whole, all_);
  for (std::uint32_t p = 0; p < meeting.parts.rows(); ++p) solve(rally, whole + 1 + p, meeting.parts.row(p));
  out_.clear();
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (places_[i].open) out_.push_back(rate_[i]);
  return out_;
}

/// All fluids of the rally, in order.
void RallyRates::list(std::span<const Member> rally) {
  ids_.clear(), places_.clear();
  for (std::uint32_t m = 0; m < rally.size(); ++m) {
    ids_.push_back(rally[m].stage_id);
    for (std::uint32_t f = 0; f < rally[m].left.size(); ++f) places_.push_back({m, f, rally[m].left[f] > 0});
  }
  all_.resize(places_.size());
  std::iota(all_.begin(), all_.end(), 0u);
  rate_.resize(places_.size());
}

/// As the components of a stage of all fluids together.
void RallyRates::find_parts(std::span<const Member> rally, Meeting& meeting) {
  Stage together;
  for (const Member& m : rally) {
    const auto begin = static_cast<std::uint32_t>(together.link.size());
    together.link.insert(together.link.end(), m.stage->link.begin(), m.stage->link.end());
    for (Fluid f : m.stage->fluids) {
      f.begin += begin, f.end += begin;
      together.fluids.push_back(f);
    }
  }
  splitter_.resize(lowering_.capacities());
  splitter_.split(together, nullptr);
  for (const Component& c : together.components) {
    meeting.parts.values.insert(meeting.parts.values.end(), together.members.begin() + c.begin,
                                together.members.begin() + c.end);
    meeting.parts.close_row();
  }
  kept_ += together.members.size();
}

/// Leaves its key in key_.
const std::vector<double>* RallyRates::known(std::uint64_t part, std::span<const std::uint32_t> row) {
  key_.assign(1, part);
  std::uint64_t open = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    open |= std::uint64_t{places_[row[i]].open} << (i % 64);
    if (i % 64 == 63 || i + 1 == row.size()) key_.push_back(std::exchange(open, 0));
  }
  const auto found = known_.find(key_);
  return found == known_.end() ? nullptr : &found->second;
}

/// Fills in the rates of the part's open fluids.
void RallyRates::solve(std::span<const Member> rally, std::uint64_t part, std::span<const std::uint32_t> row) {
  const std::vector<double>* rates = known(part, row);
  if (!rates) {
    solver_.begin(StageSolver::Rates::kAsBefore);
    const auto rate_of = [&](LinkId l) { return lowering_.rate(l); };
    for (const std::uint32_t i : row)
      if (places_[i].open) solver_.add(*rally[places_[i].member].stage, places_[i].fluid, rate_of);
    const auto found = solver_.solve();
    kept_ += key_.size() + found.size();
    rates = &known_.emplace(key_, std::vector<double>(found.begin(), found.end())).first->second;
  }
  std::size_t next = 0;
  for (const std::uint32_t i : row)
    if (places_[i].open) rate_[i] = (*rates)[next++];
}

}  // namespace busbar
