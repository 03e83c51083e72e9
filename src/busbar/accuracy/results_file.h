// A user's own measurements: the table or JSON report of nccl-tests or rccl-tests, a CSV of rccl-tests, or a CSV with
// size_bytes and time_us, and optionally gpus, the number of participants.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/accuracy/link_tests.h"
#include "busbar/base/result.h"
#include "busbar/collectives/schedule.h"

namespace busbar::accuracy {

struct MeasuredResult {
  std::uint64_t size_bytes = 0;
  double us = 0;
};

/// A file that was read for results, and what it is: "128 sizes of all_reduce", "NCCL_DEBUG=INFO log".
struct ResultsFile {
  std::string name, what;
  bool has_results = false;
};

struct MeasuredResults {
  std::string collective{};            ///< as named in the file; empty: not named
  std::vector<MeasuredResult> rows{};  ///< by ascending size; the median if a size occurs several times
  std::string library{};               ///< NCCL's number as nccl-tests prints it: "23007"; empty: not in the file
  std::string launch{};                ///< from the header of nccl-tests: "graph", "loop", "process"; empty: not there
  std::uint32_t ranks = 0;             ///< 0: not in the file
  std::vector<std::string> unread{};   ///< truncated rows: "line 12: ..."
  std::vector<std::string> assumed{};  ///< what the file does not say: "column time has no unit and ..."
  std::uint32_t hosts = 0;             ///< 0: not in the file
  std::string product{};               ///< the first GPU's, as its driver names it; empty: not in the file
  double bus_per_algorithm = 0;        ///< busbw / algbw of the largest size; 0: not in the file
  double in_place = 1;                 ///< median time of large sizes in place, relative to out of place; 1: not both
  std::string reduction{};             ///< column redop: "sum"; empty: none
  int root = -1;                       ///< column root; -1: none
  std::vector<ResultsFile> files{};    ///< of a folder or an archive; empty for a file
  MeasuredAt at{};                     ///< of the rows; nothing for a folder or an archive
};

/// A folder or an archive stands for its files, one log per host or rank, as one set: those with results must agree on
/// collective and ranks, and others are only listed.
/// Errors with line: a file of neither kind, a table without rows, a time that is not a number above 0.
Result<MeasuredResults> read_results(const std::string& name);
Result<MeasuredResults> parse_results(std::string_view text, const std::string& name);

struct NamedResults {
  std::string file;
  MeasuredResults results;
};
/// A step of a training run: the line of `busbar train` that describes it, without the machine, and its time.
struct MeasuredStep {
  std::string line;
  double seconds = 0;
  MeasuredAt at;
};
/// What a user measured on a machine.
struct OwnFiles {
  std::vector<NamedResults> tables;
  std::vector<LinkTest> links;
  std::vector<MeasuredStep> steps;
};
/// The same where files may hold several operations and numbers of ranks, each on its own, or tests of links, or steps:
/// a CSV with the columns `train` and `step_time_s`.
Result<OwnFiles> read_own_files(const std::string& name);

}  // namespace busbar::accuracy
