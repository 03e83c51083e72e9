// Input files of ASTRA-sim: the analytical network (YAML), and the JSON of system, memory and logical dimensions.
// Source of the formats: astra-sim and astra-network-analytical, examples and input readers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "busbar/formats/imported.h"

namespace busbar::formats {

enum class AstraBlock : std::uint8_t { kRing, kFullyConnected, kSwitch };
struct AstraDimension {
  AstraBlock block{};
  std::uint32_t npus = 1;
  double bandwidth = 0;   ///< as written: 2^30 bytes per second per link
  double latency_ns = 0;  ///< per link
};
struct AstraNetwork {
  std::vector<AstraDimension> dimensions;  ///< innermost first
  std::uint32_t npus = 1;
  std::vector<UnknownPart> unknown;
};
bool looks_like_astra_network(std::string_view head);
Result<AstraNetwork> read_astra_network(std::string_view text, const std::string& name);

/// NPUs become GPUs, first dimension fastest. Rings and meshes have direct links, switches are switches.
Result<ImportedMachine> machine_of(const AstraNetwork& network);

/// The content of one of ASTRA-sim's JSON files, in our terms.
struct AstraSystem {
  std::vector<std::pair<std::string, std::vector<std::string>>> algorithms;  ///< per collective, one per dimension
  std::vector<std::pair<std::string, std::string>> settings;                 ///< other known keys, as written
  std::vector<std::uint32_t> logical_dimensions;
  std::vector<UnknownPart> unknown;
};
bool looks_like_astra_system(std::string_view head);
Result<AstraSystem> read_astra_system(std::string_view text, const std::string& name);

}  // namespace busbar::formats
