#include "busbar/lowering/internal/lanes.h"

#include <algorithm>
#include <numeric>

namespace busbar::lowering {

std::uint32_t most_channels(const program::CollectiveCall& call, const routing::Placement& placement,
                            const program::ProtocolModel& protocol) {
  const std::uint64_t filled = std::max<std::uint64_t>(1, count(call.bytes) / kBytesPerChannel);
  if (filled >= placement.nic_channels() && filled >= kFilledChannels) return protocol.max_channels;
  const auto n = static_cast<std::uint32_t>(filled);
  return protocol.max_channels == 0 ? n : std::min(n, protocol.max_channels);
}

Lanes lanes_of(const program::CollectiveCall& call, const collectives::Schedule& s, std::uint32_t per_domain,
               const routing::Placement& placement, const program::ProtocolModel& protocol) {
  Lanes out;
  out.channels = s.channels;
  out.stride = call.schedule && call.channels == 0 ? 1 : 0;
  out.per_order = s.traits.channels_per_order;
  if (s.traits.reduces_in_fabric) return out;  // a tree has its NIC
  const std::uint32_t turns = call.nics ? call.nics->channels : placement.nic_channels();
  const bool planned = s.families.size() > 1 && !s.families[0].order.empty();  // each order has its NIC
  if (call.channels > 0)
    out.count = std::max(1u, call.channels / s.channels);
  else if (call.schedule && per_domain < call.groups.size())
    out.count = call.nics ? 1 : turns;
  else if (!planned && !call.schedule && per_domain < call.groups.size())
    out.count = turns / std::gcd(turns, s.channels / out.per_order);
  if (call.channels > 0) {
    out.cap = out.count * static_cast<double>(per_second(protocol.channel_rate)) / kPsPerSecond;
  } else if (const std::uint32_t most = most_channels(call, placement, protocol); most > 0) {
    out.count = std::min(out.count, most);
  }
  return out;
}

}  // namespace busbar::lowering
