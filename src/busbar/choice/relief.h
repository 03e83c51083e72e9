// What relieving one kind of link would buy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/engine/engine.h"

namespace busbar {

/// Links that a person would upgrade together: "nvlink, gpu-nvswitch", "infiniband, nic-leaf".
struct LinkGroup {
  std::string name;
  std::vector<std::uint16_t> classes;  ///< link classes, ascending; degraded ones with their sound kin
};
/// All groups of a machine, by first link; then, for each kind with several tiers, all of them together, because equal
/// tiers bound a path in turn. A class belongs to the tier of its first live link.
std::vector<LinkGroup> link_groups(const Topology& topology);

struct Relief {
  std::string what;             ///< "+10 % rate of infiniband, nic-leaf"
  double gain_percent = 0;      ///< of the time that it saves
  double most_percent = 0;      ///< what is saved if that is no limit at all; 0 where not asked for
  std::optional<Bound> next{};  ///< and the limit that comes next
};
/// Part of a time that a change saves, never negative.
double gain_percent(double before_ps, double after_ps);
/// Largest gain first; ties stay in order.
void sort_by_gain(std::vector<Relief>& relief);

/// Re-lowers `call` with one group changed at a time: rate +10 %, 1 us less latency, one more NIC per node, and damage
/// (Topology::damage) undone, each as a whole (the eight worst). Groups that the call's stages are
/// busiest on; all groups it uses, with what comes next, when `every` is set. Largest gain first, ties by group. Gains
/// are those of the closed form, in which calls do not disturb each other.
Result<std::vector<Relief>> find_relief(const Router& router, const Placement& placement, const ProtocolModel& protocol,
                                        const CollectiveCall& call, bool every);

}  // namespace busbar
