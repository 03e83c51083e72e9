// Figures that foreign files need but do not contain: rates of lanes, memory of GPUs. The caller takes them from its
// catalogue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar::topology {

/// All members may be empty. A reader then counts a lane of unknown rate as kUnknownLane and says so in its notes.
struct PartFigures {
  struct Gpu {
    DeviceClass device_class;
    std::vector<std::uint32_t> pci_ids;  ///< vendor << 16 | device
    std::optional<LinkClass> lane;       ///< one lane of its scale-up link
    int host_pcie = 0;                   ///< PCIe generation of its slot; 0: not known
    std::string protocol;                ///< name in catalog/protocols for its generation
  };
  enum class Joined : std::uint8_t { kSwitch, kMesh, kCube };
  /// Properties that identify GPUs in files that do not name them.
  struct Signature {
    std::size_t gpus = 0;    ///< of one host
    std::int64_t lanes = 0;  ///< of scale-up links per GPU
    LinkKind kind{};
    Joined joined{};                    ///< kCube: not determined by these figures
    std::vector<std::string> products;  ///< products with these properties; the first is taken
  };
  struct Processor {
    ProcessorIdentity identity;
    std::optional<LinkClass> socket;  ///< joins two of them, all lanes together
  };
  std::vector<Gpu> gpus;                          ///< in the order of the search
  std::vector<Signature> signatures;              ///< likewise
  std::string given_gpu;                          ///< the user's answer for unnamed GPUs; empty: none
  std::vector<Processor> processors;              ///< likewise; a model between two of a family counts as the lower one
  std::vector<LinkClass> pcie;                    ///< one lane of each generation, from the first on
  std::optional<LinkClass> infiniband, ethernet;  ///< efficiency, latency of a network cable; rate: the port's
};

/// Replaces an unknown rate. No product has it: a round number that cannot be mistaken for a real one.
inline constexpr BytesPerSecond kUnknownLane{1'000'000'000};

}  // namespace busbar::topology
