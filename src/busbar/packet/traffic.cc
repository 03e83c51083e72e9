#include "busbar/packet/internal/traffic.h"

namespace busbar::packet {

Traffic::Traffic(const Wiring& wiring_, const program::FlowList& list_, const std::vector<std::uint32_t>& routes_)
    : wiring(wiring_), list(list_), routes(routes_), successors(program::successors_of(list_)) {
  legs.reserve(2 * list.flows.size());
  for (std::uint32_t f = 0; f < list.flows.size(); ++f) add_flow(f, list.after.row(f).size());
}

void Traffic::add(const Csr<std::uint32_t>& after, const Csr<std::uint32_t>& added_successors) {
  const std::uint32_t first = size();
  for (std::uint32_t f = 0; f < after.rows(); ++f) {
    add_flow(first + f, after.row(f).size());
    for (const std::uint32_t next : added_successors.row(f)) successors.values.push_back(first + next);
    successors.close_row();
  }
}

void Traffic::add_flow(std::uint32_t flow, std::size_t waits) {
  const Route& route = wiring.route(routes[flow]);
  legs.push_back(route.forth);
  legs.push_back(route.back);
  waits_for.push_back(static_cast<std::uint32_t>(waits));
  ready.push_back(list.flows[flow].start.since_start().in_ps());
  sender_of.push_back(kNone32);
  receiver_of.push_back(kNone32);
  outcomes.emplace_back();
}

}  // namespace busbar::packet
