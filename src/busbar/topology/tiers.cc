#include "busbar/topology/tiers.h"

#include <fmt/core.h>

namespace busbar::topology {
namespace {

constexpr std::uint8_t kLeafTier = 1, kSpineTier = 2, kCoreTier = 3;

}  // namespace

std::vector<std::uint8_t> switch_tiers(const Topology& t) {
  std::vector<std::uint8_t> out(t.device_count(), 0);
  for (const DeviceId d : t.fabric_switches()) {
    const DeviceKind kind = t.kind(d);
    if (kind == DeviceKind::kLeaf || kind == DeviceKind::kSwitch) out[index(d)] = kLeafTier;
    if (kind == DeviceKind::kSpine) out[index(d)] = kSpineTier;
  }
  std::vector<LinkId> open;  // cables to cores of unknown tier
  for (std::uint32_t l = 0; l < t.link_count(); l += 2) {
    const auto link = static_cast<LinkId>(l);
    const DeviceKind a = t.kind(t.from(link)), b = t.kind(t.to(link));
    if (a == DeviceKind::kCore || b == DeviceKind::kCore) open.push_back(link);
  }
  for (std::uint8_t tier = kCoreTier; !open.empty(); ++tier) {
    std::vector<std::uint32_t> reached;
    for (const LinkId l : open) {
      const std::uint32_t a = index(t.from(l)), b = index(t.to(l));
      if (out[a] == tier - 1 && out[b] == 0 && t.kind(t.to(l)) == DeviceKind::kCore) reached.push_back(b);
      if (out[b] == tier - 1 && out[a] == 0 && t.kind(t.from(l)) == DeviceKind::kCore) reached.push_back(a);
    }
    if (reached.empty()) break;
    for (const std::uint32_t d : reached) out[d] = tier;
    std::erase_if(open, [&](LinkId l) { return out[index(t.from(l))] != 0 && out[index(t.to(l))] != 0; });
  }
  for (const DeviceId d : t.fabric_switches())
    if (t.kind(d) == DeviceKind::kCore && out[index(d)] == 0) out[index(d)] = kCoreTier;
  return out;
}

std::string tier_name(std::uint8_t tier) {
  constexpr const char* kNames[] = {"nic", "leaf", "spine", "core"};
  return tier < std::size(kNames) ? kNames[tier] : fmt::format("tier {}", tier);
}

}  // namespace busbar::topology
