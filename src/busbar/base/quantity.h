// Numbers with units, from text and to text. Bits exist only here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/base/units.h"

namespace busbar {

/// "400Gb/s", "50 GB/s", "3.35TB/s": b = bits, B = bytes, decimal prefixes, per direction. Zero, negative, NaN, missing
/// or binary units are errors that name the remedy.
Result<BytesPerSecond> parse_rate(std::string_view text);
/// "80GB" = 80e9, "512MiB" = 2^29. Files must give the unit.
Result<Bytes> parse_size(std::string_view text);
/// As on the nccl-tests command line: without unit bytes; K/M/G/T (also KB, KiB, ...) are binary.
Result<Bytes> parse_cli_size(std::string_view text);
/// "2us", "0.5 us", "150ns", "3 s", "10ms", "250ps".
Result<Duration> parse_duration(std::string_view text);

std::string format_rate(double bytes_per_s);          ///< "49.2 GB/s", "1.80 TB/s": three significant digits
std::string format_size(double bytes);                ///< decimal: "66.4 GB"
std::string format_binary_size(std::uint64_t bytes);  ///< "1 GiB", "512 KiB", "1000 B" if exact, otherwise format_size
std::string format_duration(double seconds);          ///< "9.31 s", "159 us"
/// `digits` significant digits without exponent and without thousands separators.
std::string format_number(double value, int digits = 3);

/// Insertions, deletions, changes and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The entry of `known` nearest to `word` by edit distance if it is near enough to suggest; otherwise empty.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// 64-bit FNV-1a as 16 hex digits; chain by passing the previous state.
std::uint64_t hash64(std::string_view text, std::uint64_t state = 0xcbf29ce484222325u);

}  // namespace busbar
