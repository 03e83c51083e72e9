// Routes that begin or end at a switch that adds.
#include <fmt/core.h>

#include <algorithm>

#include "busbar/packet/internal/wiring.h"

namespace busbar::packet {

bool Wiring::is_switch(topology::DeviceId d) const {
  return fabric_.number(d) >= 0 || topology_.device_class(d).reduces;
}

/// Links from or to a switch: those between neighbours, or by the NIC of a GPU.
Result<std::vector<topology::LinkId>> Wiring::links_to_switch(topology::DeviceId from, topology::DeviceId to,
                                                              topology::DeviceId nic_from,
                                                              topology::DeviceId nic_to) const {
  const auto between = [&](topology::DeviceId a, topology::DeviceId b, std::vector<topology::LinkId>& out) {
    for (const topology::LinkId l : topology_.out_links(a))
      if (topology_.to(l) == b) out.push_back(l);
  };
  std::vector<topology::LinkId> links;
  between(from, to, links);
  if (!links.empty()) return links;
  std::vector<routing::LinkShare> inside;
  const topology::DeviceId nic = nic_from != kNone<topology::DeviceId> ? nic_from : nic_to;
  if (nic != kNone<topology::DeviceId>) {
    if (nic == nic_to) between(from, nic, links);
    BUSBAR_RETURN_IF_ERROR(
        nic == nic_from ? router_.spread(from, nic, kNone<topology::DeviceId>, kNone<topology::DeviceId>, 0, inside)
                        : router_.spread(nic, to, kNone<topology::DeviceId>, kNone<topology::DeviceId>, 0, inside));
    for (const routing::LinkShare& s : inside) links.push_back(s.link);
    if (nic == nic_from) between(nic, to, links);
  }
  if (!links.empty()) return links;
  return Error{
      ErrorCode::kUnreachable, fmt::format("no cable joins {} and {}", topology_.name(from), topology_.name(to)), {}};
}

/// Adds every hop as given; needs no tables on the way.
void Wiring::add_leg_of(const std::vector<topology::LinkId>& links, topology::DeviceId from, topology::DeviceId to,
                        Leg& leg, Route& route) {
  std::vector<Inner> inner;
  std::vector<std::uint32_t> wires;
  leg.nic = kNone32;
  leg.target = node_of(to);
  const std::uint32_t home = node_of(from);
  for (const topology::LinkId l : links) {
    const std::uint32_t a = node_of(topology_.from(l));
    if (a == node_of(topology_.to(l))) continue;
    wires.push_back(wire_of(l));
    const auto at = std::find_if(inner.begin(), inner.end(), [&](const Inner& i) { return i.node == a; });
    if (at == inner.end()) {
      inner.push_back({a, {wires.back()}});
    } else {
      at->wires.push_back(wires.back());
    }
  }
  const auto first = std::find_if(inner.begin(), inner.end(), [&](const Inner& i) { return i.node == home; });
  BUSBAR_CHECK(first != inner.end()) << "a route must begin at its first device";
  leg.outlet = outlet_of(first->wires);
  leg.inner = static_cast<std::uint32_t>(inner_.size());
  inner_.push_back(std::move(inner));
  add_idle_walk(wires, home, leg.target, route);
}

}  // namespace busbar::packet
