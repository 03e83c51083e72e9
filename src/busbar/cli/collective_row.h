// The options of `busbar collective`, and one row of its result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/cli/nccl_tests_flags.h"
#include "busbar/cli/packet_options.h"
#include "busbar/cli/predict_flags.h"
#include "busbar/cli/session.h"
#include "busbar/predict/prediction.h"

namespace busbar {

/// The options as typed.
struct CollectiveOptions {
  CommonOptions common;
  std::string cluster, op;
  std::string first = "8", last, protocol = "auto";
  double factor = 2;
  std::uint32_t channels = 0, chunks = 0, root = 0, jobs = 1;
  NcclTestsFlags nccl_tests;
  std::vector<std::string> ranks;  ///< one entry per group
  std::string placement = "packed";
  std::optional<std::int64_t> seed;
  std::string algorithm = "auto";
  PredictOptions predict;
  std::string transport, balance;  ///< for the packet engine
  double patience_s = 1800;
  std::vector<std::string> jitter;
  PacketExtras extras;
  std::string schedule, out, matrix;  ///< file names
};

/// One line of its table.
struct CollectiveRow {
  CollectiveCall call;  ///< as timed, with the chosen algorithm, protocol and schedule
  Bytes size{};
  Duration time, algorithm_floor;
  Floor floor;
  std::string algorithm, protocol = "simple";
  std::optional<NcclChoice> nccl;  ///< if NCCL's rules chose
  std::uint32_t channels = 1, chunks = 1;
  Bound bound;
  std::string cause;  ///< of the band: Prediction::cause
  Band band;
  std::vector<Relief> relief;
  std::vector<ChainPart> chain;  ///< with --explain: parts that sum to the time
  std::string synthesized;       ///< a schedule made for this machine: "12 trees"
  std::string textbook;          ///< if so, the fastest other algorithm
  Duration textbook_time;
  std::optional<Duration> ring;  ///< and the time of plain rings, if rings can run it
  std::optional<JitterEffect> jitter;
  std::vector<Duration> jobs;  ///< end of each of several jobs, earliest first
  /// Difference from the floor, in percent.
  double gap_percent() const { return floor.time.in_ps() > 0 ? 100 * (time.in_s() / floor.time.in_s() - 1) : 0; }
  double algbw() const { return time.in_ps() > 0 ? static_cast<double>(count(size)) / time.in_s() / 1e9 : 0; }
};

CollectiveRow row_of(Prediction prediction);

}  // namespace busbar
