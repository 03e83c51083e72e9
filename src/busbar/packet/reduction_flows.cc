#include "busbar/packet/internal/reduction_flows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "busbar/lowering/channels.h"
#include "busbar/lowering/send_costs.h"

namespace busbar::packet {
namespace {

/// Part `i` of `n` of `bytes`.
std::uint64_t part_of(std::uint64_t bytes, std::uint64_t i, std::uint64_t n) {
  return bytes * (i + 1) / n - bytes * i / n;
}

void append(ReductionFlows::Flows& to, const ReductionFlows::Flows& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

ReductionFlows::ReductionFlows(const program::CollectiveCall& call, const collectives::Schedule& schedule,
                               const topology::Topology& topology, const routing::Placement& placement,
                               const program::ProtocolModel& protocol, std::uint32_t per_domain, Emit emit)
    : call_(call),
      s_(schedule),
      t_(topology),
      placement_(placement),
      share_switch_(lowering::costs_of(protocol, call.protocol).share_switch),
      step_switch_(lowering::costs_of(protocol, call.protocol).step_switch),
      step_network_(protocol.step_network),
      per_domain_(per_domain),
      emit_(std::move(emit)) {
  if (!s_.traits.reduces_in_fabric || s_.reducers == 0) return;
  const bool one_domain = s_.reducers == s_.channels;  // nothing else could add
  for (std::uint32_t m = 0; m < s_.ranks && at_hubs_; ++m) at_hubs_ = lowering::has_reducing_switch(t_, gpu(0, m));
  at_hubs_ = one_domain || (at_hubs_ && per_domain > 1);
  lanes_ = at_hubs_ ? per_domain : 1;
  trees_.emplace(t_);
}

topology::DeviceId ReductionFlows::gpu(std::uint32_t group, std::uint32_t member) const {
  return placement_.gpu(call_.groups.actor(group, member));
}

topology::DeviceId ReductionFlows::nic(std::uint32_t group, std::uint32_t member, std::uint32_t channel) const {
  return placement_.nic(call_.groups.actor(group, member), channel);
}

/// The switch above the NIC of a member.
Result<topology::DeviceId> ReductionFlows::leaf(std::uint32_t group, std::uint32_t member, std::uint32_t channel) {
  const topology::DeviceId n = nic(group, member, channel);
  const topology::LinkId l = n == kNone<topology::DeviceId> ? kNone<topology::LinkId> : trees_->uplink(n);
  if (l == kNone<topology::LinkId>)
    return unsupported(
        fmt::format("no switch above {} can reduce; choose another algorithm, or say 'reduces: true' "
                    "of the fabric's switch",
                    t_.name(gpu(group, member))));
  return t_.to(l);
}

/// Between a GPU and the scale-up switches of its server that reduce.
Result<ReductionFlows::Flows> ReductionFlows::to_scale_up(topology::DeviceId gpu, bool up, std::uint64_t bytes,
                                                          Duration overhead, const Flows& after) {
  std::vector<std::pair<topology::DeviceId, double>> switches;
  double total = 0;
  for (const topology::LinkId l : t_.out_links(gpu)) {
    if (!t_.device_class(t_.to(l)).reduces) continue;
    const auto rate = static_cast<double>(per_second(t_.link_class(l).payload_rate()));
    total += rate;
    if (!switches.empty() && switches.back().first == t_.to(l)) {
      switches.back().second += rate;
    } else {
      switches.emplace_back(t_.to(l), rate);
    }
  }
  if (switches.empty())
    return unsupported(
        fmt::format("no switch next to {} can reduce; choose another algorithm, or set 'reduces: true' for the switch",
                    t_.name(gpu)));
  Flows out;
  const double whole = static_cast<double>(bytes) / share_switch_;
  for (const auto& [device, rate] : switches) {
    program::ListedFlow f;
    f.from = up ? gpu : device;
    f.to = up ? device : gpu;
    f.nic_from = f.nic_to = kNone<topology::DeviceId>;
    f.bytes = Bytes{static_cast<std::uint64_t>(std::ceil(whole * rate / total))};
    f.overhead = overhead;
    out.push_back(emit_(f, after));
  }
  return out;
}

/// Between a GPU and the switch above its NIC.
Result<ReductionFlows::Flows> ReductionFlows::to_leaf(std::uint32_t group, std::uint32_t member, std::uint32_t channel,
                                                      bool up, std::uint64_t bytes, const Flows& after) {
  BUSBAR_ASSIGN(const topology::DeviceId above, leaf(group, member, channel));
  program::ListedFlow f;
  f.from = up ? gpu(group, member) : above;
  f.to = up ? above : gpu(group, member);
  f.nic_from = up ? nic(group, member, channel) : kNone<topology::DeviceId>;
  f.nic_to = up ? kNone<topology::DeviceId> : nic(group, member, channel);
  f.bytes = Bytes{bytes};
  f.overhead = step_network_;
  return Flows{emit_(f, after)};
}

std::vector<std::uint32_t> ReductionFlows::members_of(const collectives::Phase& phase, std::uint32_t actor,
                                                      std::uint32_t lane) const {
  const std::uint32_t first = s_.ranks + phase.channel * (s_.reducers / s_.channels);
  const std::uint32_t begin = (actor - first) * per_domain_;
  std::vector<std::uint32_t> out;
  for (std::uint32_t m = begin; m < begin + per_domain_; ++m)
    if (!at_hubs_ || m % per_domain_ == lane) out.push_back(m);
  return out;
}

std::vector<std::uint32_t> ReductionFlows::members_of_lane(std::uint32_t lane) const {
  std::vector<std::uint32_t> out;
  for (std::uint32_t m = 0; m < s_.ranks; ++m)
    if (m % lanes_ == lane) out.push_back(m);
  return out;
}

/// The switch where all members of a lane meet, and the links to it from the switches above some of them.
Result<ReductionFlows::Climb> ReductionFlows::climb_of(std::uint32_t group, std::uint32_t channel, std::uint32_t lane,
                                                       std::span<const std::uint32_t> members) {
  const auto above = [&](std::span<const std::uint32_t> some) -> Result<std::vector<topology::DeviceId>> {
    std::vector<topology::DeviceId> out;
    for (const std::uint32_t m : some) {
      BUSBAR_ASSIGN(const topology::DeviceId d, leaf(group, m, channel));
      out.push_back(d);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  };
  const std::uint32_t tree = channel * lanes_ + lane;
  const std::vector<std::uint32_t> everyone = members_of_lane(lane);
  BUSBAR_ASSIGN(const std::vector<topology::DeviceId> all, above(everyone));
  BUSBAR_ASSIGN(const std::vector<topology::DeviceId> leaves, above(members));
  Climb c;
  c.root = trees_->root(all, tree);
  if (c.root == kNone<topology::DeviceId>)
    return unsupported("the switches above these ranks do not meet in one that can reduce; choose another algorithm");
  for (const topology::DeviceId from : leaves) {
    std::vector<topology::LinkId> links;
    if (!trees_->climb(from, c.root, tree, links))
      return unsupported(fmt::format("no way of switches that reduce leads from {} to {}; choose another algorithm",
                                     t_.name(from), t_.name(c.root)));
    c.levels.resize(std::max(c.levels.size(), links.size()));
    for (std::size_t i = 0; i < links.size(); ++i) c.levels[i].push_back(links[i]);
  }
  for (std::vector<topology::LinkId>& level : c.levels) {
    std::sort(level.begin(), level.end());
    level.erase(std::unique(level.begin(), level.end()), level.end());
  }
  return c;
}

/// Sums of domains meet on the way up; the sum at the top is complete.
Result<std::vector<ReductionFlows::Flows>> ReductionFlows::up_the_trees(const collectives::Phase& phase,
                                                                        std::uint32_t group,
                                                                        std::span<const collectives::Move> moves,
                                                                        const Filled& filled, const SizeOf& size_of) {
  Flows top;
  for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
    std::map<topology::DeviceId, Flows> here;
    std::vector<std::uint32_t> members;
    const std::uint64_t bytes = part_of(size_of(moves.front()), lane, lanes_);
    for (const collectives::Move& m : moves) {
      const Flows sum = filled(m);
      for (const std::uint32_t member : members_of(phase, m.src, lane)) {
        members.push_back(member);
        BUSBAR_ASSIGN(const topology::DeviceId above, leaf(group, member, phase.channel));
        if (!at_hubs_) {
          append(here[above], sum);
          continue;
        }
        BUSBAR_ASSIGN(const Flows taken, to_scale_up(gpu(group, member), false, bytes, Duration(), sum));
        BUSBAR_ASSIGN(const Flows sent, to_leaf(group, member, phase.channel, true, bytes, taken));
        append(here[above], sent);
      }
    }
    BUSBAR_ASSIGN(const Climb climb, climb_of(group, phase.channel, lane, members));
    for (const std::vector<topology::LinkId>& level : climb.levels) {
      for (const topology::LinkId l : level) {
        program::ListedFlow f{t_.from(l), t_.to(l), kNone<topology::DeviceId>, kNone<topology::DeviceId>, Bytes{bytes},
                              {},         {}};
        append(here[f.to], {emit_(f, here[f.from])});
      }
    }
    append(top, here[climb.root]);
  }
  return std::vector<Flows>(moves.size(), top);
}

Result<std::vector<ReductionFlows::Flows>> ReductionFlows::down_the_trees(const collectives::Phase& phase,
                                                                          std::uint32_t group,
                                                                          std::span<const collectives::Move> moves,
                                                                          const Filled& filled, const SizeOf& size_of) {
  std::vector<Flows> out(moves.size());
  const Flows sum = filled(moves.front());
  for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
    const std::uint64_t bytes = part_of(size_of(moves.front()), lane, lanes_);
    std::vector<std::uint32_t> members;
    for (const collectives::Move& m : moves)
      for (const std::uint32_t member : members_of(phase, m.dst, lane)) members.push_back(member);
    BUSBAR_ASSIGN(const Climb climb, climb_of(group, phase.channel, lane, members));
    std::map<topology::DeviceId, Flows> here{{climb.root, sum}};
    for (auto level = climb.levels.rbegin(); level != climb.levels.rend(); ++level) {
      for (const topology::LinkId l : *level) {
        program::ListedFlow f{t_.to(l), t_.from(l), kNone<topology::DeviceId>, kNone<topology::DeviceId>, Bytes{bytes},
                              {},       {}};
        here[f.to] = {emit_(f, here[f.from])};
      }
    }
    for (std::size_t i = 0; i < moves.size(); ++i) {
      for (const std::uint32_t member : members_of(phase, moves[i].dst, lane)) {
        BUSBAR_ASSIGN(const topology::DeviceId above, leaf(group, member, phase.channel));
        if (!at_hubs_) {
          append(out[i], here[above]);
          continue;
        }
        BUSBAR_ASSIGN(const Flows got, to_leaf(group, member, phase.channel, false, bytes, here[above]));
        BUSBAR_ASSIGN(const Flows given, to_scale_up(gpu(group, member), true, bytes, Duration(), got));
        append(out[i], given);
      }
    }
  }
  return out;
}

Result<std::vector<ReductionFlows::Flows>> ReductionFlows::round(const collectives::Phase& phase, std::uint32_t group,
                                                                 std::span<const collectives::Move> moves,
                                                                 const Filled& filled, const SizeOf& size_of) {
  if (moves.empty()) return std::vector<Flows>{};
  const collectives::Move& first = moves.front();
  if (std::min(first.src, first.dst) >= s_.ranks)
    return first.src < first.dst ? up_the_trees(phase, group, moves, filled, size_of)
                                 : down_the_trees(phase, group, moves, filled, size_of);
  std::vector<Flows> out;
  for (const collectives::Move& m : moves) {
    const bool up = m.src < s_.ranks;
    const std::uint32_t member = up ? m.src : m.dst;
    if (at_hubs_) {
      BUSBAR_ASSIGN(Flows flows, to_scale_up(gpu(group, member), up, size_of(m), step_switch_, filled(m)));
      out.push_back(std::move(flows));
    } else {
      BUSBAR_ASSIGN(Flows flows, to_leaf(group, member, phase.channel, up, size_of(m), filled(m)));
      out.push_back(std::move(flows));
    }
  }
  return out;
}

}  // namespace busbar::packet
