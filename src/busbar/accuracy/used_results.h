// What calibrate uses of a user's files, and where it stands there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace busbar::accuracy {

/// Lines of a file, and the day of the measurement: "2026-11-24", as the file or its name states it; empty: neither
/// does.
struct MeasuredAt {
  std::string file;
  int first_line = 0, last_line = 0;  ///< 0: not known
  std::string date;
};
std::string in_words(const MeasuredAt& at);  ///< "p2p.txt, lines 32 to 40, measured on 2026-11-24"

/// The first day that the text states, else that its name states. Never the day of the file itself, which a copy
/// changes.
std::string date_in(std::string_view text, std::string_view name);

/// Sizes that are not used, with the reason.
struct UnusedSizes {
  std::vector<std::uint64_t> size_bytes;
  std::string why;
};

struct CalibratedTable {
  std::string file, collective;  ///< of a test of links, its name in the file
  std::uint32_t ranks = 0;
  std::uint64_t used = 0;  ///< sizes; of a test of links, its figures
  std::vector<UnusedSizes> unused;
};

}  // namespace busbar::accuracy
