#include "busbar/lowering/send_costs.h"

namespace busbar::lowering {

program::ProtocolCosts costs_of(const program::ProtocolModel& model, program::Protocol protocol) {
  if (protocol == program::Protocol::kLl && model.ll.available) return model.ll;
  if (protocol == program::Protocol::kLl128 && model.ll128.available) return model.ll128;
  return {true, model.step_scale_up, model.step_server, model.step_network, 1};
}

program::RateShares rate_shares(const program::ProtocolModel& model) {
  return {model.share_scale_up, model.share_server, model.share_network};
}

}  // namespace busbar::lowering
