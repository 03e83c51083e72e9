// A transport of packets: its name, the settings it begins with, how its senders react, and what users can set of it.
#pragma once

#include <type_traits>
#include <vector>

#include "busbar/packet/internal/control.h"
#include "busbar/packet/internal/profile.h"
#include "busbar/packet/knobs.h"
#include "busbar/packet/transport_names.h"

namespace busbar::packet {

/// Reads and writes a setting, in the unit of its knob.
struct KnobAccess {
  double (*get)(const Profile&);
  void (*set)(Profile&, double);
};
/// The knob of a member of the profile. `place` returns a reference to it.
template <auto place>
constexpr KnobAccess member() {
  return {[](const Profile& p) {
            Profile copy = p;
            return static_cast<double>(place(copy));
          },
          [](Profile& p, double value) { place(p) = static_cast<std::decay_t<decltype(place(p))>>(value); }};
}

struct TransportKnob {
  PacketKnob knob;
  KnobAccess access;
};
constexpr double kMostBytes = 4e9, kSecond_ps = 1e12, kMostRate = 1e13;  ///< bounds of knobs

/// One file NAME_transport.cc makes one, by a function NAME_transport(); nothing else knows of it but its number.
struct Transport {
  PacketTransportName name;
  void (*defaults)(Profile&, const Scale&);  ///< after those that all transports share; with their sources
  ControlLaw law;
  std::vector<TransportKnob> knobs{};  ///< that no other transport uses
};

/// All of them, by number.
const std::vector<Transport>& transports();
inline const Transport& transport_of(PacketTransport number) { return transports()[static_cast<std::size_t>(number)]; }

}  // namespace busbar::packet
