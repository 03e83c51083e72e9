#include "busbar/doctor/internal/perftest_rows.h"

#include <fmt/core.h>

#include "busbar/formats/lines.h"

namespace busbar::doctor {
namespace {

constexpr std::int64_t kLeast = 64 << 10;            // bytes
constexpr double kMegabyte = 8.0 * (1 << 20) / 1e9;  // perftest 24, src/perftest_resources.c: MB/sec counts 2^20 bytes

}  // namespace

std::string PerftestRows::said_by(std::string_view line) {
  // Words that begin with a rare letter are found faster; logs have millions of lines.
  if (line.find("W Test") != line.npos && line.find(" BW Test") != line.npos) {
    *this = {};
    both_ways_ = line.find("Bidirectional") != line.npos;
    return {};
  }
  if (const std::size_t at = line.find("Device "); at != line.npos) {
    formats::LineCursor rest(line.substr(at + 7));
    rest.blanks();
    if (!rest.accept(":")) return {};
    rest.blanks();
    device_ = rest.word();
    gigabits_ = 0;
    return {};
  }
  if (line.find("#bytes") != line.npos) {
    const bool bits = line.find("BW average[Gb/sec]") != line.npos;
    gigabits_ = bits ? 1 : line.find("BW average[MB/sec]") != line.npos ? kMegabyte : 0;
    return {};
  }
  if (gigabits_ == 0 || device_.empty() || both_ways_) return {};
  formats::LineCursor row(line);
  std::int64_t bytes = 0, iterations = 0;
  double peak = 0, average = 0;
  row.blanks();
  bool whole = row.integer(bytes);
  row.blanks();
  whole = whole && row.integer(iterations);
  row.blanks();
  whole = whole && row.number(peak);
  row.blanks();
  whole = whole && row.number(average);
  if (!whole || bytes < kLeast) return {};
  return fmt::format("perftest device {} reaches {:.4g} Gb/s with {} bytes", device_, average * gigabits_, bytes);
}

}  // namespace busbar::doctor
