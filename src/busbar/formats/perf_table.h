// Results of nccl-tests and rccl-tests: the table on the terminal (any release), and their JSON and CSV reports.
//
// Source: NVIDIA nccl-tests 1.x to 2.19.6, src/common.cu and util.cu; ROCm rccl-tests, JSON and CSV of
// --report_filepath.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/formats/imported.h"
#include "busbar/formats/lines.h"

namespace busbar::formats {

struct PerfTiming {
  double time_us = 0, algbw_GBps = 0, busbw_GBps = 0;
  std::optional<double> wrong;  ///< elements that differ, or the largest error of old releases; none: not checked
};

struct PerfRow {
  std::uint64_t size_bytes = 0, count = 0;
  std::string type, op;  ///< "float", "sum"; op may be empty
  int root = -1;
  std::optional<PerfTiming> out_of_place, in_place;
  int line = 0;
};

struct PerfRank {
  int rank = 0, device = -1;
  std::string host, bus, product;
};

/// One run of one collective.
struct PerfTable {
  std::string collective;  ///< "all_reduce"; empty if the output does not name it
  std::string version;     ///< of the tests
  std::string library;     ///< NCCL's number: 23007
  std::string settings;    ///< the line with nThread, minBytes, ...
  std::vector<PerfRank> ranks;
  std::vector<PerfRow> rows;
  std::optional<double> average_busbw_GBps;
  std::string out_of_bounds;  ///< "0 OK"
  int rank_count = 0;         ///< from the report, if ranks are not listed
};

struct PerfResults {
  std::vector<PerfTable> tables;
  std::vector<UnknownPart> unknown;  ///< lines outside tables are counted, truncated rows are listed
  std::uint64_t other_lines = 0;
};

bool looks_like_perf_table(std::string_view head);
bool looks_like_perf_json(std::string_view head);
bool looks_like_perf_csv(std::string_view head);
/// Lines of NCCL and of launchers may occur in between, and tables of several sources may alternate line by line. Where
/// no release names the operation, the command before the table does. Error kInvalid if there is no table at all.
Result<PerfResults> read_perf_table(LineSource& source);
Result<PerfResults> read_perf_json(std::string_view text, const std::string& name);
Result<PerfResults> read_perf_csv(std::string_view text, const std::string& name);

}  // namespace busbar::formats
