// Dense 32-bit ids: objects refer to each other by number, not by pointer.
#pragma once

#include <cstdint>
#include <type_traits>

namespace busbar {

/// The array index of a dense id (`enum class XId : std::uint32_t`).
template <typename Id>
  requires std::is_enum_v<Id>
constexpr std::uint32_t index(Id id) {
  return static_cast<std::uint32_t>(id);
}

/// The id that means "none".
template <typename Id>
  requires std::is_enum_v<Id>
inline constexpr Id kNone = static_cast<Id>(0xffff'ffffu);
/// The same for indices that are plain numbers.
inline constexpr std::uint32_t kNone32 = 0xffff'ffffu;

}  // namespace busbar
