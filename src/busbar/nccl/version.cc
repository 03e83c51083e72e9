#include "busbar/nccl/version.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace busbar::nccl {
namespace {
constexpr NcclVersion kOldest{2, 18}, kNewest{2, 30};
}

Result<NcclVersion> parse_nccl_version(std::string_view text) {
  const std::string_view typed = text;
  if (text.starts_with('v')) text.remove_prefix(1);
  NcclVersion v{0, 0};
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, v.major);
  const bool dot = major.ec == std::errc() && major.ptr != end && *major.ptr == '.';
  if (!dot || std::from_chars(major.ptr + 1, end, v.minor).ec != std::errc())
    return invalid(fmt::format("'{}' is not a version of NCCL; write for example 2.27", typed));
  if (v < kOldest || v > kNewest)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("the rules of NCCL {} are unknown; {} to {} are known", typed, to_string(kOldest),
                             to_string(kNewest)),
                 {}};
  return v;
}

NcclVersion nearest_known(NcclVersion version) { return std::clamp(version, kOldest, kNewest); }

std::string to_string(NcclVersion v) { return fmt::format("{}.{}", v.major, v.minor); }

}  // namespace busbar::nccl
