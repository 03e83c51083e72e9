// Links: their kinds and classes. Links of one class share one record.
#pragma once

#include <cstdint>
#include <string>

#include "busbar/base/id.h"
#include "busbar/base/units.h"

namespace busbar::topology {

enum class DeviceId : std::uint32_t {};
enum class LinkId : std::uint32_t {};  ///< A directed link; `reverse(l)` is the other direction.
enum class LinkClassId : std::uint16_t {};

enum class DeviceKind : std::uint8_t {
  kGpu,
  kCpu,
  kNuma,
  kPcieSwitch,
  kRootPort,  ///< of a CPU: shared by several slots or PCIe switches on their way to it
  kNic,
  kNvme,
  kNvSwitch,
  kLeaf,
  kSpine,
  kCore,
  kOcs,
  kSwitch
};

enum class LinkKind : std::uint8_t {
  kNvlink,
  kXgmi,
  kIci,
  kC2c,  // scale-up
  kPcie,
  kSocket,
  kHost,  // inside a server: PCIe, socket to socket, NUMA node to its CPU
  kInfiniband,
  kEthernet,
  kIdeal  // fabric; kIdeal belongs to no product
};

const char* name_of(DeviceKind kind);  ///< "gpu", "nvswitch", ... the word used in device names
const char* name_of(LinkKind kind);

constexpr bool is_scale_up(LinkKind k) { return k <= LinkKind::kC2c; }
constexpr bool is_in_server(LinkKind k) { return k >= LinkKind::kPcie && k <= LinkKind::kHost; }
constexpr bool is_fabric(LinkKind k) { return k >= LinkKind::kInfiniband; }
constexpr bool is_endpoint(DeviceKind k) { return k == DeviceKind::kGpu || k == DeviceKind::kNvme; }

/// The parts of a fabric cable's latency. A device that forwards counts half on each of its two sides.
struct LatencyParts {
  Duration nic, switching;
  Duration frame;  ///< store-and-forward: reception of a whole frame
  Duration fec;    ///< error correction, if the figures of NIC and switch do not contain it
  Duration cable;  ///< propagation along its length
  bool operator==(const LatencyParts&) const = default;
  Duration sum() const { return nic + switching + frame + fec + cable; }
};

/// The common properties of links of one sort, for one direction.
struct LinkClass {
  LinkKind kind = LinkKind::kIdeal;
  BytesPerSecond wire_rate{0};  ///< as the data sheet gives it, all lanes together
  double efficiency = 1.0;      ///< largest share of the wire rate that payload reaches, (0, 1]
  double health = 1.0;          ///< 1 as built, (0, 1) degraded, 0 failed
  Duration latency;             ///< first bit in to first bit out at the far device
  std::uint16_t lanes = 1;      ///< parallel lanes or cables this link stands for
  std::string part;             ///< "nvlink4 x5", "pcie5 x16": for people
  std::string brand;            ///< "NeuronLink": for people; empty: as other links of the kind are called
  LatencyParts latency_parts;   ///< they sum to `latency`, or are all 0 if it is a single figure
  bool operator==(const LinkClass&) const = default;

  /// The rate that engines use: wire rate x efficiency x health. 0 if failed.
  BytesPerSecond payload_rate() const;
  /// The rate that floors use: wire rate x health, without the fitted efficiency.
  BytesPerSecond floor_rate() const;
};

constexpr LinkId reverse(LinkId l) { return static_cast<LinkId>(static_cast<std::uint32_t>(l) ^ 1u); }

}  // namespace busbar::topology
