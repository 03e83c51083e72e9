// The NICs by which the channels of a call leave and enter nodes, as a communication library chose them.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/base/id.h"

namespace busbar::program {

/// One table for all ranks of a call, shared by the calls of all sizes. Devices are dense numbers of the topology; a
/// program knows nothing else of it.
///
/// Shapes: `out`, `in` and `proxy` have channels x ranks entries; that of channel c and global rank r is at c * ranks +
/// r. Global ranks are those of CollectiveCall::groups. If a schedule has more channels than the table, channel c uses
/// entry c modulo channels.
struct ChannelNics {
  std::uint32_t channels = 0;
  std::uint32_t ranks = 0;         ///< 1 + the highest global rank of the call
  std::vector<std::uint32_t> out;  ///< row of `ports` for sending to other nodes; kNone32: the rank never does
  std::vector<std::uint32_t> in;   ///< row of `ports` for receiving from other nodes; kNone32: the rank never does
  /// The global rank whose GPU passes the rank's data to the NIC. Another rank if the library relays over scale-up
  /// links (NCCL's PXN), otherwise the rank itself. kNone32 where `out` is.
  std::vector<std::uint32_t> proxy;
  /// Devices of each NIC that the library sees. Several if the library drives several ports as one NIC: then every
  /// message is divided evenly over the sender's ports and over the receiver's.
  Csr<std::uint32_t> ports;

  std::size_t at(std::uint32_t channel, std::uint32_t rank) const {
    return std::size_t{channel % channels} * ranks + rank;
  }
};

}  // namespace busbar::program
