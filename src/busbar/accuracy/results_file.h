// A user's own measurements: the table or JSON report of nccl-tests or rccl-tests, or a CSV with size_bytes and
// time_us, and gpus where it says how many took part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/collectives/schedule.h"

namespace busbar {

struct MeasuredResult {
  std::uint64_t size_bytes = 0;
  double us = 0;
};

struct MeasuredResults {
  std::string collective{};            ///< as the file names it; empty: it does not
  std::vector<MeasuredResult> rows{};  ///< by ascending size; the median of several of one size
  std::string library{};               ///< NCCL's number as nccl-tests print it: "23007"; empty: not said
  std::string launch{};                ///< as the header of nccl-tests tells: "graph", "loop", "process"; empty: not said
  std::uint32_t ranks = 0;             ///< 0: not said
  std::vector<std::string> unread{};   ///< rows that were cut off: "line 12: ..."
};

/// Errors with line: a file of neither kind, a table without rows, a time that is no number above 0.
Result<MeasuredResults> read_results(const std::string& file);
Result<MeasuredResults> parse_results(std::string_view text, const std::string& name);

}  // namespace busbar
