// The bytes that each pair of ranks exchanges in an all_to_allv: a CSV table `src,dst,bytes`, as a router of experts or
// a counter of messages writes it (docs/formats/flows.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "busbar/base/result.h"
#include "busbar/base/units.h"
#include "busbar/collectives/schedule.h"

namespace busbar::formats {

struct PairMatrix {
  collectives::PairCounts counts;  ///< in chunks
  Bytes busiest{0};                ///< S: the data of the rank that sends most, including what it keeps
};

/// Pairs that are not listed exchange nothing. Sizes are exact if their greatest common divisor permits, otherwise
/// rounded to one part in 2^31 of the whole. Errors with file and line: kInvalid (a missing column, a rank outside
/// `ranks`, a pair listed twice, a size that is negative or no number, no bytes at all), kUnsupported (above 4,096
/// ranks), kNotFound.
Result<PairMatrix> read_pair_matrix(const std::string& file, std::uint32_t ranks);
Result<PairMatrix> parse_pair_matrix(std::string_view text, const std::string& name, std::uint32_t ranks);

}  // namespace busbar::formats
