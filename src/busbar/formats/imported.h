// The result of every reader of a machine description: the machine, data outside the topology, and unknown parts.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/xml.h"
#include "busbar/topology/topology.h"

namespace busbar::formats {

/// A part of a file that its reader does not use or does not know. Every such part is listed.
struct UnknownPart {
  int line = 0;      ///< of its first occurrence, 1-based
  std::string what;  ///< "attribute nic.foo"
  std::uint64_t count = 1;
  bool operator==(const UnknownPart&) const = default;
};

/// Adds an entry, or increments the count of an equal one.
void add_unknown(std::vector<UnknownPart>& list, int line, std::string what);
/// Adds every attribute of `e` that is not among `known`.
void add_unknown_attributes(std::vector<UnknownPart>& list, const XmlElement& e,
                            std::initializer_list<std::string_view> known);
/// Adds every key of `map` that is not among `known`, behind `prefix`: "key row.size".
void add_unknown_keys(std::vector<UnknownPart>& list, const Json& map, const std::string& prefix,
                      std::initializer_list<std::string_view> known);

/// Data about a device outside the topology. -1 and empty mean: not in the file.
struct ImportedDevice {
  std::string bus_id;           ///< "0000:17:00.0"
  std::uint32_t pci_class = 0;  ///< 0x030200
  std::uint32_t pci_id = 0;     ///< vendor << 16 | device
  int dev = -1;                 ///< GPU: CUDA or NVML index
  int rank = -1;                ///< GPU: rank in the communicator; -1: not in it
  int sm = -1;                  ///< GPU: as written; NVIDIA compute capability x 10, AMD compute units
  int gdr = -1;                 ///< GPU: 0 or 1
  int numa_id = -1;             ///< CPU
  int family = 0, model = 0;    ///< CPU: as written
  std::string host;             ///< CPU: host_hash; distinguishes the systems of a merged dump
};

/// One port of a NIC, as the network plugin offers it.
struct ImportedPort {
  topology::DeviceId nic{};
  std::string name;  ///< "mlx5_0"
  int dev = -1, port = 1, speed_mbps = 0, gdr = -1, collnet = 0;
  double latency_us = 0;
  std::uint64_t guid = 0;
};

struct ImportedMachine {
  topology::Topology topology;          ///< one block; its ports are on one switch "network" if their speed is known
  int version = 0;                      ///< of the file format: 1 NCCL, 2 RCCL
  std::vector<ImportedDevice> devices;  ///< of the block, by index: devices[index(d)]
  std::vector<ImportedPort> ports;      ///< by dev
  std::vector<std::string> notes;       ///< assumptions about facts that the file leaves open
  std::string unnamed;                  ///< why the GPUs' product is unknown; empty: it is known
  std::vector<UnknownPart> unknown;
};

}  // namespace busbar::formats
