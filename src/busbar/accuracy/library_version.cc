#include "busbar/accuracy/library_version.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>

namespace busbar::accuracy {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A release at the start of `text`: "2.27.7", "v2.27", or the number of a header, 22707.
std::optional<nccl::NcclVersion> release_at(std::string_view text) {
  constexpr unsigned kFirstCode = 20900, kLastCode = 29999;  // NCCL_VERSION_CODE of nccl.h since 2.9
  if (text.starts_with('v')) text.remove_prefix(1);
  const char* const last = text.data() + text.size();
  unsigned first = 0, second = 0;
  const auto major = std::from_chars(text.data(), last, first);
  if (major.ec != std::errc()) return std::nullopt;
  if (first >= kFirstCode && first <= kLastCode)
    return nccl::NcclVersion{static_cast<std::uint16_t>(first / 10000), static_cast<std::uint16_t>(first / 100 % 100)};
  if (first != 2 || major.ptr == last || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, last, second);
  if (minor.ec != std::errc() || second > 99) return std::nullopt;
  if (minor.ptr != last && *minor.ptr == 'x') return std::nullopt;  // "2.2x": some release from 2.20 on
  return nccl::NcclVersion{static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(second)};
}

std::optional<nccl::NcclVersion> release_in(std::string_view text) {
  constexpr std::string_view kName = "NCCL";
  for (std::size_t at = text.find(kName); at != std::string_view::npos; at = text.find(kName, at + 1)) {
    if (at > 0 && text[at - 1] == 'R') continue;  // RCCL uses the same numbers but has its own rules
    const std::size_t begin = text.find_first_not_of(" (", at + kName.size());
    if (begin != std::string_view::npos)
      if (const auto v = release_at(text.substr(begin))) return v;
  }
  constexpr std::string_view kDefault = "default ";  // "NCCL not stated (doc default 2.27.7)"
  const std::size_t at = text.find(kDefault);
  const bool number =
      at != std::string_view::npos && at + kDefault.size() < text.size() && is_digit(text[at + kDefault.size()]);
  return number ? release_at(text.substr(at + kDefault.size())) : std::nullopt;
}

}  // namespace

LibraryVersion library_version(std::string_view text) {
  LibraryVersion out;
  const auto found = release_in(text);
  out.stated = found.has_value();
  if (!found) {
    out.words = fmt::format("NCCL {}, none is stated", nccl::to_string(out.rules));
    return out;
  }
  out.rules = nccl::nearest_known(*found);
  out.words = "NCCL " + nccl::to_string(out.rules);
  if (*found < out.rules) out.words += fmt::format(", the oldest known, for {}", nccl::to_string(*found));
  if (*found > out.rules) out.words += fmt::format(", the newest known, for {}", nccl::to_string(*found));
  return out;
}

}  // namespace busbar::accuracy
