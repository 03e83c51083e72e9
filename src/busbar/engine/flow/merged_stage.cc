#include "busbar/engine/flow/internal/merged_stage.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace busbar::engine {
namespace {

constexpr double kEqual = 1.02;  // far below what the step depends on; hashed flows differ by factors of 1.3 and more

}  // namespace

StageMerger::StageMerger(StageSolver& solver, const lowering::CapacityTable& table)
    : solver_(solver), table_(table), splitter_(solver.shortcuts()) {}

/// The rate of each fluid while all of the stage are under way.
std::vector<double> StageMerger::rates_alone(const lowering::Stage& stage) const {
  std::vector<double> out(stage.fluids.size());
  for (std::uint32_t c = 0; c < stage.components.size(); ++c) {
    const lowering::Component& component = stage.components[c];
    const auto member = stage.members.begin() + component.begin;
    const std::uint32_t size = component.end - component.begin;
    if (component.like != c) {
      const auto known = stage.members.begin() + stage.components[component.like].begin;
      for (std::uint32_t m = 0; m < size; ++m) out[member[m]] = out[known[m]];
      continue;
    }
    solver_.begin(StageSolver::Rates::kAsBefore);
    for (std::uint32_t m = 0; m < size; ++m)
      solver_.add(stage, member[m], [&](routing::CapacityId on) { return table_.rate(on); });
    const std::span<const double> rates = solver_.solve();
    for (std::uint32_t m = 0; m < size; ++m) out[member[m]] = rates[m];
  }
  return out;
}

std::optional<lowering::Stage> StageMerger::merged(const lowering::Stage& stage) {
  const auto n = static_cast<std::uint32_t>(stage.fluids.size());
  if (n < solver_.shortcuts().fluids_apart || !solver_.shortcuts().has(Shortcut::kFluidsOfEqualRate)) return {};
  if (!same_bytes(stage)) return {};
  const std::vector<double> rates = rates_alone(stage);
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](std::uint32_t f) { return std::pair(rates[f], f); });
  if (load_.empty()) load_ = {table_.counts(), 0.0}, splitter_.resize(table_.counts());
  lowering::Stage out;
  for (auto first = order.begin(); first != order.end();) {
    const auto last = std::find_if(first, order.end(), [&](auto f) { return rates[f] > rates[*first] * kEqual; });
    lowering::Fluid all{static_cast<std::uint32_t>(out.on.size()), 0, stage.fluids[*first].bytes, 0};
    for (; first != last; ++first) {
      const lowering::Fluid& f = stage.fluids[*first];
      all.alone_ps = std::max(all.alone_ps, f.alone_ps);
      for (std::uint32_t i = f.begin; i < f.end; ++i) {
        if (load_[stage.on[i]] == 0) out.on.push_back(stage.on[i]);
        load_[stage.on[i]] += stage.weight[i];
      }
    }
    for (std::size_t i = all.begin; i < out.on.size(); ++i) out.weight.push_back(std::exchange(load_[out.on[i]], 0));
    all.end = static_cast<std::uint32_t>(out.on.size());
    out.fluids.push_back(all);
  }
  if (out.fluids.size() == n) return {};
  solver_.shortcuts().take(Shortcut::kFluidsOfEqualRate);
  splitter_.split(out, [&](routing::CapacityId c) { return table_.rate(c); });
  return out;
}

}  // namespace busbar::engine
