// Costs of sends on real hardware besides the wire.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "busbar/base/result.h"
#include "busbar/base/units.h"

namespace busbar::program {

class MeasuredCalls;

/// How a receiver recognises new data. Source: NVIDIA NCCL, src/include/device.h, src/device/symmetric, src/ce_coll.cc.
enum class Protocol : std::uint8_t {
  kAuto,         ///< chosen together with the algorithm; engines take kSimple
  kSimple,       ///< bulk pieces, a fence and a counter after each
  kLl128,        ///< lines of 128 bytes, 8 of them flags
  kLl,           ///< stores of 8 bytes, 4 of them flags
  kSymmetric,    ///< loads and stores in the peers' own buffers, between two barriers of all ranks
  kSymmetricLl,  ///< stores with flags to buffers at equal addresses, without barriers
  kCopy,         ///< copy engines, between two barriers of all ranks
};
const char* name_of(Protocol protocol);  ///< "auto", "simple", "ll128", "ll", "symmetric", "symmetric_ll", "copy"
/// In any case. Not the last three: a library takes them by itself, for buffers that are registered.
Result<Protocol> parse_protocol(std::string_view name);

/// Costs of one protocol. Protocols with flags in the data take less time per send and put more bytes on the wire.
struct ProtocolCosts {
  bool available = false;
  Duration step_scale_up, step_server, step_network;  ///< as in ProtocolModel
  double efficiency = 1;                              ///< payload bytes per byte sent
  Duration launch_more{};      ///< added to ProtocolModel::launch; negative where kernels start faster
  Duration launch_per_rank{};  ///< the same, for each rank of a group
  Duration step_switch{};      ///< as in ProtocolModel
  double share_switch = 1;     ///< as in ProtocolModel
};

/// What the library of a network adds to messages over a NIC. All zero: nothing.
struct MessageCosts {
  /// The processor of the receiver needs `time` for a message of more than `above` bytes, because it copies or fetches
  /// it.
  struct Step {
    Bytes above{0};
    Duration time;
  };
  std::array<Step, 3> steps{};  ///< their times add up
  /// With Simple, a message occupies half of the buffer of its channel for so long besides the time of its bytes.
  /// Source of the half: NVIDIA NCCL, src/include/device.h, ALLREDUCE_CHUNKSTEPS and ALLGATHER_CHUNKSTEPS are
  /// NCCL_STEPS / 2.
  Duration slot;

  bool any() const { return steps[0].time > Duration() || slot > Duration(); }
  /// Of one message; `bytes` are those on the wire.
  Duration of(double bytes) const {
    Duration sum;
    for (const Step& s : steps)
      if (bytes > static_cast<double>(count(s.above))) sum = sum + s.time;
    return sum;
  }
};

/// Overheads of the communication software. All zero: the ideal machine of the closed forms.
struct ProtocolModel {
  Duration launch;                 ///< once per collective: kernel launch and synchronisation
  Duration step_scale_up;          ///< per send that stays on NVLink, xGMI, ...
  Duration step_server;            ///< per send over PCIe or between sockets
  Duration step_network;           ///< per send that crosses a NIC
  std::uint32_t max_channels = 0;  ///< most channels of a ring or tree; 0: as many as there are NICs
  BytesPerSecond channel_rate{0};  ///< largest rate of one channel of a call per GPU; 0: no limit
  ProtocolCosts ll128, ll;
  ProtocolCosts symmetric, symmetric_ll, copy;  ///< with switch costs of their own; inside a scale-up domain
  MessageCosts messages;
  Duration step_switch;  ///< per reduction or multicast in a switch
  /// Of a rank's own time, for each message beyond its first that it sends, or takes in, in a phase whose messages know
  /// nothing of each other: processors send them one after another. Fluids count it, packets do not.
  Duration per_message;
  /// Share of the links' payload rate (of plain copies) that kernels reach when they move and add bytes: on NVLink and
  /// similar links, inside a server, over NICs, and over links whose switch reduces.
  double share_scale_up = 1, share_server = 1, share_network = 1, share_switch = 1;
  /// What is left of the rate of each direction where data are copied through host memory in both at the same time.
  double staged_both_ways = 1;
  Duration staged_copy;         ///< of a plain copy from GPU to GPU through host memory, whatever its size
  bool peer_access = true;      ///< GPUs write to each other over PCIe; if false, over host memory
  bool scale_up_access = true;  ///< the same over NVLink, xGMI, ...
  bool gpudirect = true;        ///< NICs reach GPU memory; if false, over host memory
  std::shared_ptr<const MeasuredCalls> measured{};  ///< times of this very machine, which correct all others; or null
  Bytes chunk{0};  ///< piece size for trees, chains and hierarchies if the call gives none; 0: one piece
};

}  // namespace busbar::program
