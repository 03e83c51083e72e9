// Which NCCL is meant: rules and constants changed from release to release.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "busbar/base/result.h"

namespace busbar {

struct NcclVersion {
  std::uint16_t major = 2, minor = 30;
  constexpr auto operator<=>(const NcclVersion&) const = default;
};

/// "2.27", "2.27.7", "v2.27.7-1": 2.18 to 2.30. Error kInvalid or kUnsupported with the range.
Result<NcclVersion> parse_nccl_version(std::string_view text);
/// The oldest or the newest whose rules are known, where `version` is none of them.
NcclVersion nearest_known(NcclVersion version);
std::string to_string(NcclVersion version);  ///< "2.27"

}  // namespace busbar
