// The verdict on a whole table of results, from those on its rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace busbar::accuracy {

enum class Verdict : std::uint8_t {
  kGood,        ///< inside the band
  kLow,         ///< slower than the band allows
  kFast,        ///< faster than the band: the prediction is off, not the machine
  kSuspicious,  ///< faster than physics allows
};
const char* name_of(Verdict verdict);  ///< "good", "low", "fast", "suspicious"

struct ExpectedRow {
  std::uint64_t size_bytes = 0;
  double measured_us = 0, expected_us = 0, low_us = 0, high_us = 0;
  double floor_us = 0;  ///< physics allows no shorter time
  Verdict verdict = Verdict::kGood;
  std::string how, bound_by;
};

/// The largest size, relative to the smallest of the plateau.
constexpr std::uint64_t kPlateau = 16;

/// The plateau: sizes of at least 1/kPlateau of the largest one. Its median decides, so one odd row does not.
struct TableVerdict {
  Verdict verdict = Verdict::kGood;      ///< good, low, or suspicious if a row is below its floor
  std::string why;                       ///< for people: "1 GiB to 8 GiB take 2.0 times the expected time"; of a good
                                         ///< table, what it cannot tell
  std::size_t outside = 0;               ///< number of rows that are low or suspicious
  std::uint64_t plateau_from_bytes = 0;  ///< smallest size of the plateau
  double plateau_percent = 0;            ///< median time of the plateau above the expected one
  double threshold_percent = 0;          ///< a plateau above this is low; wider than the band of a row
  std::uint64_t odd_from_bytes = 0, odd_to_bytes = 0;  ///< sizes that are low although the plateau is good; 0: none
};

/// A band contains nine tenths of all measurements of one size. The threshold of a table is its 98th percentile if
/// errors are log-normal: 2.05 / 1.64 times as wide in logarithms. Precondition: `rows` is not empty, ascending sizes.
TableVerdict judge_table(std::span<const ExpectedRow> rows);

}  // namespace busbar::accuracy
