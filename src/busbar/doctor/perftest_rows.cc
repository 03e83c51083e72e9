#include "busbar/doctor/internal/perftest_rows.h"

#include <fmt/core.h>

namespace busbar::doctor {

std::string PerftestRows::said_by(std::string_view line) {
  constexpr std::int64_t kLeast = 64 << 10;  // bytes
  const std::optional<formats::PerftestRow> row = lines_.read(line);
  if (!row || row->device.empty() || row->both_ways || row->gigabits == 0 || row->bytes < kLeast) return {};
  return fmt::format("perftest device {} reaches {:.4g} Gb/s with {} bytes", row->device, row->gigabits, row->bytes);
}

}  // namespace busbar::doctor
