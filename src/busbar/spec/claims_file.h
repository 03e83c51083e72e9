// Published claims about interconnects in training, from catalog/claims: bands to compare with predictions.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/yaml.h"

namespace busbar::spec {

enum class ClaimMeasure : std::uint8_t {
  kEfficiency,  ///< tokens per second per GPU, relative to one replica
  kExposedTp,   ///< exposed tensor-parallel communication, as a share of the step
};
const char* name_of(ClaimMeasure m);  ///< "efficiency", "exposed_tp"

struct Claim {
  ClaimMeasure measure{};
  std::string said_of;  ///< "PCIe 5"
  double low_percent = 0, high_percent = 0;
};
struct Claims {
  std::string source, text;
  std::vector<Claim> claims;
};
/// Refuses unknown keys, bands that end before they begin, and figures outside 0 to 100 %.
Result<Claims> read_claims(const YamlDocument& document);

}  // namespace busbar::spec
