#include "busbar/engine/send_costs.h"

namespace busbar {

ProtocolCosts costs_of(const ProtocolModel& model, Protocol protocol) {
  if (protocol == Protocol::kLl && model.ll.available) return model.ll;
  if (protocol == Protocol::kLl128 && model.ll128.available) return model.ll128;
  return {true, model.step_scale_up, model.step_server, model.step_network, 1};
}

Duration send_overhead(const ProtocolCosts& costs, const Topology& topology, DeviceId from, DeviceId to,
                       std::span<const LinkShare> path) {
  if (topology.block_of(from) != topology.block_of(to)) return costs.step_network;
  for (const LinkShare& l : path)
    if (is_in_server(topology.link_class(l.link).kind)) return costs.step_server;
  return costs.step_scale_up;
}

RateShares rate_shares(const ProtocolModel& model) {
  return {model.share_scale_up, model.share_server, model.share_network};
}

}  // namespace busbar
