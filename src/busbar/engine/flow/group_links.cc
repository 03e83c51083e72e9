#include "busbar/engine/flow/internal/group_links.h"

#include <utility>

namespace busbar {
namespace {

constexpr std::uint32_t kShared = kNone32;

}  // namespace

GroupLinks::GroupLinks(StageSolver& solver, const CapacityTable& table) : solver_(solver), table_(table) {}

const MaxMinSolver& GroupLinks::reduce(std::span<const Member> group) {
  std::vector<const Alone*> of_member;
  for (const Member& m : group) of_member.push_back(&alone(m));
  mark_shared(group);
  solver_.begin(StageSolver::Rates::kAsBefore);
  for (std::size_t m = 0; m < group.size(); ++m) add(group[m], *of_member[m]);
  for (const Member& m : group)
    for (const CapacityId c : m.stage->on) crossed_by_[c] = 0;
  return solver_.reduce();
}

const GroupLinks::Alone& GroupLinks::alone(const Member& m) {
  const auto [entry, fresh] = alone_.try_emplace(m.stage_id);
  Alone& alone = entry->second;
  if (!fresh) return alone;
  const auto fluids = static_cast<std::uint32_t>(m.stage->fluids.size());
  solver_.begin(StageSolver::Rates::kAsBefore);
  for (std::uint32_t f = 0; f < fluids; ++f) solver_.add(*m.stage, f, [&](CapacityId c) { return table_.rate(c); });
  const MaxMinSolver& reduced = solver_.reduce();
  for (std::uint32_t f = 0; f < fluids; ++f) {
    for (const std::uint32_t row : reduced.rows_of(f)) alone.on.values.push_back(solver_.link_of(row));
    alone.on.close_row();
    alone.weight.insert(alone.weight.end(), reduced.weights_of(f).begin(), reduced.weights_of(f).end());
  }
  kept_ += 2 * alone.weight.size() + fluids;
  return alone;
}

void GroupLinks::mark_shared(std::span<const Member> group) {
  if (crossed_by_.empty()) crossed_by_ = {table_.counts(), 0};
  for (std::uint32_t m = 0; m < group.size(); ++m)
    for (const CapacityId c : group[m].stage->on) {
      std::uint32_t& by = crossed_by_[c];
      by = by == 0 || by == m + 1 ? m + 1 : kShared;
    }
}

// HOT: bench after-load.
void GroupLinks::add(const Member& m, const Alone& alone) {
  for (std::uint32_t f = 0; f < m.stage->fluids.size(); ++f) {
    const Fluid& fluid = m.stage->fluids[f];
    on_.clear(), weight_.clear();
    for (std::uint32_t i = fluid.begin; i < fluid.end; ++i)
      if (crossed_by_[m.stage->on[i]] == kShared) on_.push_back(m.stage->on[i]), weight_.push_back(m.stage->weight[i]);
    for (std::uint32_t i = alone.on.begin[f]; i < alone.on.begin[f + 1]; ++i)
      if (crossed_by_[alone.on.values[i]] != kShared)
        on_.push_back(alone.on.values[i]), weight_.push_back(alone.weight[i]);
    solver_.add(on_, weight_, fluid.cap(), [&](CapacityId c) { return table_.rate(c); });
  }
}

}  // namespace busbar
