// What `busbar collective` was asked, and one row of its answer.
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

/// `busbar collective` as typed.
struct CollectiveOptions {
  CommonOptions common;
  std::string cluster, op;
  std::string first = "8", last, protocol = "auto";
  double factor = 2;
  std::uint32_t channels = 0, chunks = 0, root = 0, jobs = 1;
  NcclTestsFlags nccl_tests;
  std::vector<std::string> ranks;  ///< groups
  std::string placement = "packed";
  std::optional<std::int64_t> seed;
  std::string algorithm = "auto";
  PredictOptions predict;
  std::string transport, balance;  ///< packet engine
  double patience_s = 1800;
  std::vector<std::string> jitter;
  PacketExtras extras;
  std::string schedule, out, matrix;  ///< files
};

/// One line of its table.
struct CollectiveRow {
  CollectiveCall call;  ///< as timed: algorithm, protocol and schedule chosen
  Bytes size{};
  Duration time, algorithm_floor;
  Floor floor;
  std::string algorithm, protocol = "simple";
  std::optional<NcclChoice> nccl;  ///< where it chose
  std::uint32_t channels = 1, chunks = 1;
  Bound bound;
  std::string cause;  ///< of it: Prediction::cause
  Band band;
  std::vector<Relief> relief;
  std::vector<ChainPart> chain;  ///< with --explain: parts that sum to the time
  std::string synthesized;       ///< what the schedule is where it was made for this machine: "12 trees"
  std::string textbook;          ///< then: the fastest of the others
  Duration textbook_time;
  std::optional<Duration> ring;  ///< and what plain rings take, where there are any
  std::optional<JitterEffect> jitter;
  std::vector<Duration> jobs;  ///< when each of several jobs ended, earliest first
  /// How far above the floor, in percent.
  double gap_percent() const { return floor.time.in_ps() > 0 ? 100 * (time.in_s() / floor.time.in_s() - 1) : 0; }
  double algbw() const { return time.in_ps() > 0 ? static_cast<double>(count(size)) / time.in_s() / 1e9 : 0; }
};

CollectiveRow row_of(Prediction prediction);

}  // namespace busbar
