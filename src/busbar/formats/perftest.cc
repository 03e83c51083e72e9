#include "busbar/formats/perftest.h"

#include <array>

#include "busbar/formats/lines.h"

namespace busbar::formats {
namespace {

constexpr double kPerftestMegabyte =
    8.0 * (1 << 20) / 1e9;  // perftest 24, src/perftest_resources.c: MB/sec counts 2^20 bytes

bool line_has(std::string_view line, std::string_view words) { return line.find(words) != line.npos; }

/// The numbers after the first two integers: of rates the peak and the average, of latencies least, most and typical.
template <std::size_t N>
bool read_perftest_row(std::string_view line, std::int64_t& bytes, std::array<double, N>& numbers) {
  LineCursor row(line);
  std::int64_t iterations = 0;
  row.blanks();
  bool whole = row.integer(bytes);
  row.blanks();
  whole = whole && row.integer(iterations);
  for (double& n : numbers) {
    row.blanks();
    whole = whole && row.number(n);
  }
  return whole;
}

/// "RDMA_Write BW" of "RDMA_Write BW Test"; empty: another line.
std::string_view perftest_title(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.ends_with(" Test") && (line_has(text, " BW") || line_has(text, " Latency"))
             ? text.substr(0, text.size() - 5)
             : std::string_view();
}

}  // namespace

void PerftestLines::begin_table(std::string_view heading) {
  gigabits_ = line_has(heading, "BW average[Gb/sec]")   ? 1
              : line_has(heading, "BW average[MB/sec]") ? kPerftestMegabyte
                                                        : 0;
  latencies_ = line_has(heading, "t_typical[usec]");
}

std::optional<PerftestRow> PerftestLines::read(std::string_view line) {
  // Words that begin with a rare letter are found faster; logs have millions of lines.
  if (line_has(line, " Test")) {
    if (const std::string_view test = perftest_title(line); !test.empty()) {
      const bool gpu = said_.gpu_memory && gigabits_ == 0 && !latencies_;  // said before the title
      *this = {};
      said_.test = test;
      said_.gpu_memory = gpu;
      said_.both_ways = line_has(test, "Bidirectional");
      return {};
    }
  }
  if (line_has(line, "CUDA") || line_has(line, "--use_rocm") || line_has(line, "bytes GPU buffer")) {
    said_.gpu_memory = true;
    return {};
  }
  if (const std::size_t at = line.find("Device "); at != line.npos) {
    LineCursor rest(line.substr(at + 7));
    rest.blanks();
    if (!rest.accept(":")) return {};
    rest.blanks();
    said_.device = rest.word();
    gigabits_ = 0;
    latencies_ = false;
    return {};
  }
  if (line_has(line, "#bytes")) {
    begin_table(line);
    return {};
  }
  PerftestRow row = said_;
  if (latencies_) {
    std::array<double, 3> us{};
    if (!read_perftest_row(line, row.bytes, us) || us[2] <= 0) return {};
    row.us = us[2];
    return row;
  }
  if (gigabits_ == 0) return {};
  std::array<double, 2> rates{};
  if (!read_perftest_row(line, row.bytes, rates) || rates[1] <= 0) return {};
  row.gigabits = rates[1] * gigabits_;
  return row;
}

bool looks_like_perftest(std::string_view head) {
  return line_has(head, "#bytes") && (line_has(head, "BW average[") || line_has(head, "t_typical[usec]"));
}

}  // namespace busbar::formats
