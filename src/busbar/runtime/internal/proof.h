// Proof that another process knows the secret of a run, without sending it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "busbar/base/result.h"

namespace busbar::runtime {

using Key = std::array<std::uint8_t, 16>;

/// SipHash-2-4 (J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", 2012): no process without the key
/// finds the value of a text that was not shown to him.
std::uint64_t keyed_hash(const Key& key, std::span<const std::byte> text);

/// 32 hexadecimal digits. Errors: kInvalid, without the digits.
Result<Key> parse_key(std::string_view digits);

/// As many bytes at random. Error: the system has none.
Status fill_randomly(std::span<std::byte> bytes);

}  // namespace busbar::runtime
