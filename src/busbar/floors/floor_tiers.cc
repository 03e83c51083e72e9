#include "busbar/floors/floor_tiers.h"

namespace busbar::floors {

double floor_rate(const topology::Topology& t, topology::LinkId l, FloorRates rates) {
  return 1e-12 * (rates == FloorRates::kWire ? static_cast<double>(per_second(t.link_class(l).floor_rate()))
                                             : t.payload_rate(l));
}

FloorTiers::FloorTiers(const topology::Topology& topology)
    : t_(topology), clusters_(topology.blocks().size()), owner_(topology.device_count(), kNone32) {}

const FloorTiers::Tier* FloorTiers::at(std::size_t tier) {
  while (tiers_.size() <= tier && !complete_) {
    complete_ = tiers_.size() == kMostTiers || !join_next_switches();
    if (!complete_) measure();
  }
  return tier < tiers_.size() ? &tiers_[tier] : nullptr;
}

std::uint32_t FloorTiers::member_of(topology::DeviceId d) const {
  const topology::BlockId b = t_.block_of(d);
  return b != kNone<topology::BlockId> ? index(b) : owner_[index(d)];
}

/// Joins clusters by switches with a cable to one of them; false if there are no such switches.
bool FloorTiers::join_next_switches() {
  std::vector<std::pair<topology::DeviceId, std::uint32_t>> joined;
  for (const topology::DeviceId s : t_.fabric_switches()) {
    if (owner_[index(s)] != kNone32) continue;
    for (const topology::LinkId l : t_.out_links(s))
      if (const std::uint32_t b = member_of(t_.to(l)); b != kNone32) joined.push_back({s, b});
  }
  for (const auto& [s, b] : joined) {
    std::uint32_t& o = owner_[index(s)];
    if (o == kNone32) o = b;
    clusters_.join(o, b);
  }
  return !joined.empty();
}

void FloorTiers::measure() {
  Tier tier;
  for (std::uint32_t b = 0; b < clusters_.size(); ++b) tier.cluster_of.push_back(clusters_.find(b));
  for (auto* rates : {&tier.up, &tier.down})
    for (std::vector<double>& by_block : *rates) by_block.assign(clusters_.size(), 0);
  for (const topology::DeviceId s : t_.fabric_switches()) {
    if (owner_[index(s)] == kNone32) continue;
    const std::uint32_t own = tier.cluster_of[owner_[index(s)]];
    for (const topology::LinkId l : t_.out_links(s)) {
      const std::uint32_t far = member_of(t_.to(l));
      if (far != kNone32 && tier.cluster_of[far] == own) continue;
      for (const FloorRates rates : {FloorRates::kWire, FloorRates::kPayload}) {
        tier.up[static_cast<std::size_t>(rates)][own] += floor_rate(t_, l, rates);
        tier.down[static_cast<std::size_t>(rates)][own] += floor_rate(t_, topology::reverse(l), rates);
      }
    }
  }
  tiers_.push_back(std::move(tier));
}

}  // namespace busbar::floors
