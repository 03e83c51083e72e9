#include "busbar/lowering/send_costs.h"

namespace busbar {

ProtocolCosts costs_of(const ProtocolModel& model, Protocol protocol) {
  if (protocol == Protocol::kLl && model.ll.available) return model.ll;
  if (protocol == Protocol::kLl128 && model.ll128.available) return model.ll128;
  return {true, model.step_scale_up, model.step_server, model.step_network, 1};
}

RateShares rate_shares(const ProtocolModel& model) {
  return {model.share_scale_up, model.share_server, model.share_network};
}

}  // namespace busbar
