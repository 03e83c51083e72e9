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
  Bytes chunk{0};  ///< piece size that pipelines trees, chains and hierarchies when the call does not say; 0: one piece
};

}  // namespace busbar
