#include "busbar/lowering/crossings.h"

#include <numeric>

namespace busbar::lowering {

void find_crossings(const routing::Router& router, const routing::Placement& placement,
                    const program::ChannelNics* nics, std::uint32_t from, std::uint32_t to, std::uint32_t channel,
                    std::vector<Crossing>& out) {
  out.clear();
  const std::uint32_t leaves = nics == nullptr ? kNone32 : nics->out[nics->at(channel, from)];
  const std::uint32_t enters = nics == nullptr ? kNone32 : nics->in[nics->at(channel, to)];
  if (leaves == kNone32 || enters == kNone32) {
    const topology::DeviceId gpu = placement.gpu(from), far = placement.nic(to, channel);
    out.push_back({gpu, router.exit_nic(gpu, placement.nic(from, channel), far), far});
    return;
  }
  const topology::DeviceId gpu = placement.gpu(nics->proxy[nics->at(channel, from)]);
  const auto near = nics->ports.row(leaves), far = nics->ports.row(enters);
  const std::size_t ways = std::lcm(near.size(), far.size());
  for (std::size_t i = 0; i < ways; ++i)
    out.push_back({gpu, static_cast<topology::DeviceId>(near[i % near.size()]),
                   static_cast<topology::DeviceId>(far[i % far.size()])});
}

}  // namespace busbar::lowering
