// How a schedule is lowered onto real hardware: what each send costs beside the wire.
#pragma once

#include <cstdint>
#include <string_view>

#include "busbar/base/result.h"
#include "busbar/base/units.h"

namespace busbar {

/// How bytes are told from what was there before. Source: NVIDIA NCCL, src/include/device.h.
enum class Protocol : std::uint8_t {
  kAuto,    ///< to be chosen together with the algorithm; engines take kSimple
  kSimple,  ///< bulk pieces, a fence and a counter after each
  kLl128,   ///< lines of 128 bytes, 8 of them flags
  kLl,      ///< stores of 8 bytes, 4 of them flags
};
const char* name_of(Protocol protocol);                  ///< "auto", "simple", "ll128", "ll"
Result<Protocol> parse_protocol(std::string_view name);  ///< in any case

/// What one protocol costs. Those with flags among the data take less per send and put more on the wire.
struct ProtocolCosts {
  bool available = false;
  Duration step_scale_up, step_server, step_network;  ///< as those of ProtocolModel
  double efficiency = 1;                              ///< payload bytes per byte sent
};

/// Overheads of the software that moves the bytes. All zero: the ideal machine of the closed forms.
struct ProtocolModel {
  Duration launch;                 ///< once per collective: kernel launch and synchronisation
  Duration step_scale_up;          ///< per send that stays on NVLink, xGMI, ...
  Duration step_server;            ///< per send over PCIe or between sockets
  Duration step_network;           ///< per send that crosses a NIC
  std::uint32_t max_channels = 0;  ///< most that a ring or tree is spread over; 0: as many as there are NICs
  BytesPerSecond channel_rate{0};  ///< most that one channel of a call moves per GPU; 0: no limit
  ProtocolCosts ll128, ll;
  Duration step_switch;  ///< per reduction or multicast in a switch
  /// What kernels that move and add bytes reach of the payload rate of links (of plain copies): NVLink and its like,
  /// inside a server, over NICs, and over links whose switch reduces.
  double share_scale_up = 1, share_server = 1, share_network = 1, share_switch = 1;
  bool peer_access = true;      ///< GPUs write to each other over PCIe; else to host memory and from there
  bool scale_up_access = true;  ///< the same over NVLink, xGMI, ...
  bool gpudirect = true;        ///< NICs reach GPU memory; else through host memory
  Bytes chunk{0};  ///< piece size that pipelines trees, chains and hierarchies when the call does not say; 0: one piece
};

}  // namespace busbar
