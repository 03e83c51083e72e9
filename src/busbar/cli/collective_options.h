// The options of `busbar collective`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/cli/nccl_tests_flags.h"
#include "busbar/cli/packet_options.h"
#include "busbar/cli/predict_flags.h"
#include "busbar/cli/session.h"

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
  questions::PacketRun packets;
  std::vector<std::string> jitter;
  questions::PacketExtras extras;
  std::string compute_jitter;
  std::string schedule, out, matrix;  ///< file names
};

}  // namespace busbar
