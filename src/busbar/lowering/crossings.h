// The NICs by which the payloads of a call leave and enter servers.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/program/channel_nics.h"
#include "busbar/routing/placement.h"

namespace busbar::lowering {

/// One way from server to server.
struct Crossing {
  topology::DeviceId gpu{};  ///< passes the payload to `nic_from`: the sender's GPU, or another one that relays it
  topology::DeviceId nic_from{}, nic_to{};
};

/// Sets `out` to the ways of a message from rank `from` to rank `to` of another server. They share its bytes evenly.
/// By `nics`, if it has NICs for both ranks on that channel; otherwise by the NICs nearest to the two GPUs.
/// Pre: `nics` is null, or covers both ranks.
void find_crossings(const routing::Router& router, const routing::Placement& placement,
                    const program::ChannelNics* nics, std::uint32_t from, std::uint32_t to, std::uint32_t channel,
                    std::vector<Crossing>& out);

}  // namespace busbar::lowering
