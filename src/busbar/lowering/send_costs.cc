#include "busbar/lowering/send_costs.h"

namespace busbar::lowering {

program::ProtocolCosts costs_of(const program::ProtocolModel& model, program::Protocol protocol) {
  using enum program::Protocol;
  if (protocol == kSymmetric && model.symmetric.available) return model.symmetric;
  if (protocol == kSymmetricLl && model.symmetric_ll.available) return model.symmetric_ll;
  if (protocol == kCopy && model.copy.available) {
    program::ProtocolCosts copies = model.copy;
    copies.efficiency = 1 / model.share_scale_up;  // the shares are of kernels, relative to plain copies
    return copies;
  }
  program::ProtocolCosts out{true, model.step_scale_up, model.step_server, model.step_network, 1};
  if (protocol == kLl && model.ll.available) out = model.ll;
  if (protocol == kLl128 && model.ll128.available) out = model.ll128;
  out.step_switch = model.step_switch;
  out.share_switch = model.share_switch;
  return out;
}

Duration launch_of(const program::ProtocolModel& model, program::Protocol protocol, std::uint32_t ranks) {
  const program::ProtocolCosts costs = costs_of(model, protocol);
  return std::max(model.launch + costs.launch_more + costs.launch_per_rank * std::int64_t{ranks}, Duration());
}

program::RateShares rate_shares(const program::ProtocolModel& model) {
  return {model.share_scale_up, model.share_server, model.share_network};
}

}  // namespace busbar::lowering
