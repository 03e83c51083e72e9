// What foreign files name and do not describe: rates of lanes, memory of GPUs. The caller brings them from its
// catalogue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar {

/// Everything may be empty: a reader then counts a lane of unknown rate as kUnknownLane and says so in its notes.
struct PartFigures {
  struct Gpu {
    DeviceClass device_class;
    std::vector<std::uint32_t> pci_ids;  ///< vendor << 16 | device
    std::optional<LinkClass> lane;       ///< one lane of its scale-up link
    int host_pcie = 0;                   ///< generation of its slot; 0: not known
    std::string protocol;                ///< entry of catalog/protocols of its generation
  };
  enum class Joined : std::uint8_t { kSwitch, kMesh, kCube };
  /// What files that do not name GPUs show of them.
  struct Signature {
    std::size_t gpus = 0;    ///< of one host
    std::int64_t lanes = 0;  ///< of scale-up links per GPU
    LinkKind kind{};
    Joined joined{};                    ///< kCube: in a way that these figures do not tell
    std::vector<std::string> products;  ///< that look so; the first is taken
  };
  struct Processor {
    ProcessorIdentity identity;
    std::optional<LinkClass> socket;  ///< what joins two of them, all lanes together
  };
  std::vector<Gpu> gpus;                          ///< in the order in which they are looked for
  std::vector<Signature> signatures;              ///< likewise
  std::string given_gpu;                          ///< what the user says that unnamed GPUs are; empty: nothing
  std::vector<Processor> processors;              ///< likewise; a model between two of a family counts as the lower one
  std::vector<LinkClass> pcie;                    ///< one lane of each generation, from the first on
  std::optional<LinkClass> infiniband, ethernet;  ///< efficiency and latency of a network cable; the rate is the port's
};

/// Stands in for a rate that nobody gave. No product: a round number that is not mistaken for one.
inline constexpr BytesPerSecond kUnknownLane{1'000'000'000};

}  // namespace busbar
