// How much faster a call gets when one kind of link improves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/choice/other_threads.h"
#include "busbar/engine/engine.h"

namespace busbar::choice {

/// Links that a person would upgrade together: "nvlink, gpu-nvswitch", "infiniband, nic-leaf".
struct LinkGroup {
  std::string name;
  std::vector<std::uint16_t> classes;  ///< link classes, ascending; degraded ones together with sound ones
};
/// All groups of a machine, by first link; then, for each kind with several tiers, all its tiers as one group, because
/// equal tiers limit a path in turn. A class belongs to the tier of its first live link.
std::vector<LinkGroup> link_groups(const topology::Topology& topology);

struct Relief {
  std::string what;                       ///< "+10 % rate of infiniband, nic-leaf"
  double gain_percent = 0;                ///< saved part of the time
  double most_percent = 0;                ///< saved if this limit is removed altogether; 0 if not computed
  std::optional<lowering::Bound> next{};  ///< the limit that comes next
};
/// The part of the time that a change saves, in percent; never negative.
double gain_percent(double before_ps, double after_ps);
/// Largest gain first; ties stay in order.
void sort_by_gain(std::vector<Relief>& relief);

/// Lowers `call` again with one group changed at a time: rate +10 %, 1 us less latency, one more NIC per node. Changes
/// the groups that are busiest in the call's stages; with `every`, all groups it uses, and reports the next limit.
/// Largest gain first, ties by group. The gains are those of the closed form, in which calls do not disturb each other.
/// `others`: threads that take changes too, where a lowering takes long; the answer does not depend on them.
Result<std::vector<Relief>> find_relief(const routing::Router& router, const routing::Placement& placement,
                                        const program::ProtocolModel& protocol, const program::CollectiveCall& call,
                                        bool every, const OtherThreads& others = {});

}  // namespace busbar::choice
