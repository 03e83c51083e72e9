#include "busbar/lowering/internal/stage_builder.h"

#include <algorithm>
#include <utility>

namespace busbar::lowering {

void StageBuilder::begin(std::uint32_t step) {
  for (const routing::CapacityId c : crossed_) least_ps_[c] = INFINITY;
  crossed_.clear();
  stage = {};
  stage.step = step;
}

void StageBuilder::emit(RunLoads& loads, double bytes, double alone_ps) {
  Fluid f;
  f.begin = static_cast<std::uint32_t>(stage.on.size());
  for (const routing::CapacityId c : loads.on()) {
    stage.on.push_back(c);
    stage.weight.push_back(loads[c] / bytes);
    // Rounds that overlap still share their links, and the last byte has to arrive.
    alone_ps = std::max(alone_ps, loads[c] / table_.rate(c) + least_ps_[c]);
  }
  f.end = static_cast<std::uint32_t>(stage.on.size());
  f.bytes = bytes;
  f.alone_ps = alone_ps;
  stage.fluids.push_back(f);
  loads.clear();
}

void StageBuilder::emit_free(RunLoads& loads, double bytes, double alone_ps) {
  if (alone_ps > 0) {
    emit(loads, bytes, alone_ps);
    stage.fluids.back().alone_ps = alone_ps;  // the last byte's latency is Stage::latency_ps, not in here too
  }
  loads.clear();
}

Stage StageBuilder::finish() {
  for (const Fluid& f : stage.fluids)
    for (std::uint32_t i = f.begin; i < f.end; ++i) loads_.add(stage.on[i], stage.weight[i] * f.bytes);
  constexpr double kAlike = 1e-9;  // round-off
  double latest_ps = 0, latency_ps = 0;
  routing::CapacityId latest;
  for (const routing::CapacityId c : loads_.on()) {
    const double ps = loads_[c] / table_.rate(c), latency_of = least_ps_[c], end_ps = ps + latency_of;
    if (ps > stage.load_ps * (1 + kAlike))
      latency_ps = latency_of;
    else if (ps >= stage.load_ps * (1 - kAlike))
      latency_ps = std::max(latency_ps, latency_of);
    stage.load_ps = std::max(stage.load_ps, ps);
    if (end_ps <= latest_ps * (1 + kAlike)) continue;  // among equals the first, whatever round-off says
    latest_ps = end_ps;
    latest = c;
    stage.busiest = table_.link_of(c);
  }
  loads_.clear();
  const bool latency_is_known = stage.latency_ps != 0;
  for (Fluid& f : stage.fluids) {
    const auto begin = stage.on.begin() + f.begin, end = stage.on.begin() + f.end;
    if (!latency_is_known && latest_ps > stage.load_ps + latency_ps && std::find(begin, end, latest) != end)
      f.alone_ps = std::max(f.alone_ps, latest_ps);
    if (!latency_is_known) f.alone_ps = std::max(f.alone_ps - latency_ps, 1e-6 * f.alone_ps);
    stage.slowest_alone_ps = std::max(stage.slowest_alone_ps, f.alone_ps);
  }
  if (stage.fluids.empty()) return {};
  if (!latency_is_known) stage.latency_ps = latency_ps;
  components_.split(stage, [this](routing::CapacityId c) { return table_.rate(c); });
  return std::move(stage);
}

}  // namespace busbar::lowering
