// Hosts that share their first wires with traffic of others.
#include <algorithm>
#include <numeric>

#include "busbar/packet/internal/wiring.h"

namespace busbar::packet {

/// Per wire: 0, 1 if one outlet has it, 2 if other traffic crosses it too.
std::vector<std::uint8_t> Wiring::users_of_outlets() const {
  std::vector<std::uint8_t> users(wires_.size());
  bool by_fabric = false;
  for (const Route& r : routes_) by_fabric = by_fabric || r.forth.nic != kNone32;
  for (const std::uint32_t w : outlets_.values)
    users[w] = users[w] > 0 || (by_fabric && wires_[w].from < switches_) ? 2 : 1;
  for (const Route& r : routes_)
    for (const Leg& leg : {r.forth, r.back}) {
      const std::uint32_t home = wires_[outlets_.row(leg.outlet).front()].from;
      for (const Inner& i : inner_[leg.inner])
        for (const std::uint32_t w : i.wires)
          if (i.node != home && users[w] > 0) users[w] = 2;
    }
  return users;
}

/// A host decides itself what its wires send next. Where GPUs or adding switches forward traffic of others by these
/// wires, and where outlets overlap, the host becomes a node of its own. An ideal wire, as fast as the outlet, joins it
/// to the device, which queues its packets with those of others.
void Wiring::set_senders_apart() {
  const std::vector<std::uint8_t> users = users_of_outlets();
  Csr<std::uint32_t> outlets;
  for (std::uint32_t o = 0; o < outlets_.rows(); ++o) {
    const auto row = outlets_.row(o);
    bool shared = false;
    for (const std::uint32_t w : row) shared = shared || users[w] == 2;
    width_.push_back(static_cast<std::uint32_t>(row.size()));
    if (shared) {
      outlets.values.push_back(add_joint(row));
    } else {
      outlets.values.insert(outlets.values.end(), row.begin(), row.end());
    }
    outlets.close_row();
  }
  outlets_ = std::move(outlets);
}

std::uint32_t Wiring::add_joint(std::span<const std::uint32_t> outlet) {
  const std::uint32_t device = wires_[outlet.front()].from, host = nodes();
  device_of_.push_back(device_of_[device]);
  double rate = 0;
  for (const std::uint32_t w : outlet)
    rate += 1e12 * static_cast<double>(wires_[w].bytes) / static_cast<double>(wires_[w].ps_bytes);
  Wire joint = wires_[outlet.front()];
  const auto bytes = static_cast<std::uint64_t>(rate + 0.5);
  const std::uint64_t common = std::gcd<std::uint64_t>(1'000'000'000'000u, bytes);
  joint.ps_bytes = 1'000'000'000'000u / common;
  joint.bytes = bytes / common;
  joint.latency = 0;
  joint.in_server = joint.joint = true;
  joint.from = host;
  joint.to = device;
  const auto number = static_cast<std::uint32_t>(wires_.size());
  wires_.push_back(joint);
  std::swap(joint.from, joint.to);
  wires_.push_back(joint);
  return number;
}

/// Packets follow each other over the slowest wire; the last, which may be smaller, follows a full one everywhere.
Ps Wiring::time_alone(std::uint32_t route, std::uint64_t bytes, std::uint32_t payload, std::uint32_t header) const {
  const std::uint64_t packets = std::max<std::uint64_t>(1, (bytes + payload - 1) / payload), full = payload + header;
  const std::uint64_t last = bytes - (packets - 1) * payload + header;
  const Ps back = idle_time(route, header);
  if (packets == 1) return idle_time(route, last) + back;
  const std::uint32_t slowest = routes_[route].slowest;
  std::uint32_t wires = 1;
  for (std::uint32_t o = 0; o < outlets_.rows(); ++o)
    for (const std::uint32_t w : outlets_.row(o))
      if (w == slowest) wires = width_[o];
  const Wire& wire = wires_[slowest];
  return (static_cast<Ps>(packets - 2) * wire.transfer(full) + wire.transfer(last)) / wires + idle_time(route, full) +
         back;
}

}  // namespace busbar::packet
