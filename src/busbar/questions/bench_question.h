// A collective executed on this host: times and a check of every element, each with its prediction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/questions/context.h"
#include "busbar/questions/question.h"

namespace busbar::questions {

struct BenchRequest {
  std::string collective;
  std::string min_bytes = "8", max_bytes = "16M";
  double step_factor = 2;
  std::uint32_t ranks = 0;  ///< 0: one per core, at least 2
  std::uint32_t sockets = 1;
  std::uint32_t root = 0;
  std::string transport, algorithm = "fastest";  ///< transport "": tcp among hosts, else shm
  std::string hosts, secret_file;
  std::string pairs;  ///< file of an all_to_allv; empty: each pair exchanges as much
  std::optional<std::int64_t> rank;
  bool in_place = false;
  std::uint32_t iters = 20, warmup_iters = 5, check = 1;
  std::string datatype = "float", reduction = "sum";
  double timeout_s = 30;
  std::string emit_cluster, trace;
  bool compare = false;
};
const Record& record_of(const BenchRequest*);

/// What this host was found to be, by measurement in this run.
struct BenchHost {
  std::string name;
  std::uint32_t cores = 0;
  double copy_in_cache_GBps = 0, copy_GBps = 0, add_in_cache_GBps = 0, add_GBps = 0;                  ///< of memory
  double hop_us = 0, per_message_us = 0, run_copy_GBps = 0, run_add_GBps = 0, run_one_copy_GBps = 0;  ///< of runs
  double kept_message_us = 0, run_kept_copy_GBps = 0;
};
const Record& record_of(const BenchHost*);

struct BenchRow {
  std::uint64_t size_bytes = 0;
  std::string algorithm;
  double measured_us = 0, algbw_GBps = 0, busbw_GBps = 0;
  std::optional<std::uint64_t> wrong;
  std::optional<double> in_place_us, in_place_algbw_GBps, in_place_busbw_GBps;
  std::optional<std::uint64_t> in_place_wrong;
  std::optional<double> predicted_us, ratio;
  std::optional<std::string> bound_by;
};
const Record& record_of(const BenchRow*);

/// A step of the largest size, by its end since the run began.
struct BenchStep {
  std::uint32_t step = 0, rank = 0;
  std::string what;
  double measured_us = 0, simulated_us = 0;
};
const Record& record_of(const BenchStep*);

struct BenchResult {
  std::string collective, transport, datatype, reduction, inputs_hash;
  std::uint32_t ranks = 0, switches = 0;
  BenchHost host;
  std::vector<BenchRow> results;
  std::optional<double> median_error_percent;
  std::vector<BenchStep> steps;
  std::vector<std::string> notes;
  int exit_status = 0;
  bool silent = false;  ///< another rank, on this host or another one, has the answer
  std::vector<OutputFile> files;
};
const Record& record_of(const BenchResult*);

Result<BenchResult> answer(const BenchRequest& request, const Context& context = {});

}  // namespace busbar::questions
