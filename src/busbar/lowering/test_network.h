// A machine with its routes and ranks, for tests that lower calls on many of them.
#pragma once

#include "busbar/program/protocol.h"
#include "busbar/routing/placement.h"

namespace busbar::lowering {

struct TestNetwork {
  topology::Topology topology;
  routing::Router router;
  routing::Placement placement;
  explicit TestNetwork(topology::Topology t)
      : topology(std::move(t)),
        router(topology, topology::RoutingPolicy::kStatic),
        placement(router, topology.gpus()) {}
  std::uint32_t gpus() const { return static_cast<std::uint32_t>(topology.gpus().size()); }
};

inline program::ProtocolModel some_protocol() {
  program::ProtocolModel p;
  p.launch = Duration::us(8);
  p.step_scale_up = Duration::us(2);
  p.step_network = Duration::us(10);
  p.chunk = Bytes{512 * 1024};
  return p;
}

}  // namespace busbar::lowering
