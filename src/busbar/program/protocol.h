// How a schedule is lowered onto real hardware: what each send costs beside the wire.
#pragma once

#include "busbar/base/units.h"

namespace busbar {

/// Overheads of the software that moves the bytes. All zero: the ideal machine of the closed forms.
struct ProtocolModel {
  Duration launch;         ///< once per collective: kernel launch and synchronisation
  Duration step_scale_up;  ///< per send that stays on NVLink, xGMI, ...
  Duration step_server;    ///< per send over PCIe or between sockets
  Duration step_network;   ///< per send that crosses a NIC
  std::uint32_t max_channels = 0;  ///< most that a ring or tree is spread over; 0: as many as there are NICs
  BytesPerSecond channel_rate{0};  ///< most that one channel of a call moves per GPU; 0: no limit
  Bytes chunk{0};  ///< piece size that pipelines trees, chains and hierarchies when the call does not say; 0: one piece
};

}  // namespace busbar
