// NCCL's version: rules and constants differ between releases.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "busbar/base/result.h"

namespace busbar::nccl {

struct NcclVersion {
  std::uint16_t major = 2, minor = 30;
  constexpr auto operator<=>(const NcclVersion&) const = default;
};

/// Accepts "2.27", "2.27.7", "v2.27.7-1": 2.18 to 2.30. Error kInvalid, or kUnsupported with the known range.
Result<NcclVersion> parse_nccl_version(std::string_view text);
/// `version` if its rules are known, else the oldest or the newest known version.
NcclVersion nearest_known(NcclVersion version);
std::string to_string(NcclVersion version);  ///< "2.27"

}  // namespace busbar::nccl
