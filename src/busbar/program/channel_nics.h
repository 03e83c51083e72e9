// By which NICs the channels of a call leave and enter the nodes, as a communication library chose them.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/base/id.h"

namespace busbar {

/// One table for all ranks of a call, shared by the calls of all sizes. Devices are dense numbers of the topology, of
/// which a program knows no more.
///
/// Shapes: `out`, `in` and `proxy` have channels x ranks entries, that of channel c and global rank r at c * ranks + r.
/// Global ranks are what CollectiveCall::groups names. Channels of a schedule beyond those of the table take turns:
/// channel c goes as c modulo channels.
struct ChannelNics {
  std::uint32_t channels = 0;
  std::uint32_t ranks = 0;          ///< one more than the highest global rank of the call
  std::vector<std::uint32_t> out;   ///< row of `ports` by which the rank sends to other nodes; kNone32: it never does
  std::vector<std::uint32_t> in;    ///< row of `ports` by which it receives from other nodes; kNone32: it never does
  /// Global rank whose GPU hands to the NIC what the rank sends: another one where the library relays over scale-up
  /// links (NCCL's PXN), else the rank itself. kNone32 where `out` is.
  std::vector<std::uint32_t> proxy;
  /// Devices of each NIC that the library sees. There are several where it drives several ports as one NIC: every
  /// message is then cut evenly over the sender's ports and over the receiver's.
  Csr<std::uint32_t> ports;

  std::size_t at(std::uint32_t channel, std::uint32_t rank) const {
    return std::size_t{channel % channels} * ranks + rank;
  }
};

}  // namespace busbar
