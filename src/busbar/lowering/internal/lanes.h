// Over which channels and NICs the channels of a schedule go.
#pragma once

#include <cstdint>

#include "busbar/lowering/channels.h"
#include "busbar/program/protocol.h"

namespace busbar::lowering {

/// Channel c of a schedule stands for `count` channels of the call, its lanes, which share its bytes.
struct Lanes {
  std::uint32_t count = 1;
  std::uint32_t channels = 1;   ///< of the schedule
  std::uint32_t per_order = 1;  ///< channels of the schedule that share an order and a NIC
  std::uint32_t stride = 0;     ///< NICs from lane to lane; 0: as many as the schedule has orders
  double cap = 0;               ///< bytes per ps of a connection, all lanes together; 0: no limit

  /// The number of the NIC, of those of a rank, that lane `lane` of channel `channel` uses.
  std::uint32_t nic(std::uint32_t channel, std::uint32_t lane) const {
    return channel / per_order + lane * (stride > 0 ? stride : channels / per_order);
  }
};

/// Most channels of `call`, so that small calls fill each with kBytesPerChannel. 0: no limit.
std::uint32_t most_channels(const program::CollectiveCall& call, const routing::Placement& placement,
                            const program::ProtocolModel& protocol);

/// As many lanes as the call asks for; else as many as it takes to use every NIC, at most most_channels().
/// `per_domain`: ranks_per_domain().
Lanes lanes_of(const program::CollectiveCall& call, const collectives::Schedule& schedule, std::uint32_t per_domain,
               const routing::Placement& placement, const program::ProtocolModel& protocol);

}  // namespace busbar::lowering
