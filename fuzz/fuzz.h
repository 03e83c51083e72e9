// Shared by fuzz targets and their drivers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/random.h"

/// The interface of libFuzzer: must return 0 and survive any bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace busbar::fuzz {

/// A copy of one of `seeds` with one to eight random changes, at most `kLongest` bytes long. Determined by the stream.
std::string mutate(const std::vector<std::string>& seeds, RandomStream& random);

inline constexpr std::size_t kLongest = 1 << 16;

}  // namespace busbar::fuzz
