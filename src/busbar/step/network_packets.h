// How much longer the transfers of a step between servers take packet by packet than if paths shared them evenly.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "busbar/step/network_sample.h"

namespace busbar::step {

/// How packets are sent.
struct PacketSetup {
  std::string transport, balance;
  std::vector<std::string> set;  ///< as --set: "packet=PROFILE", "packet.KEY=VALUE"
};

/// The factors of one purpose: time of its slowest connection, of that with the even setup.
struct PurposeSlowdown {
  program::OpClass purpose{};
  double mean = 1, least = 1, most = 1;  ///< over seeds of the hash of paths; at least 1
  double pauses = 0;                     ///< frames that stopped a port; mean of the seeds
};
using Slowdowns = std::vector<PurposeSlowdown>;

/// Per setup the factors of all samples. `even` is what fluids assume: packets that take all paths alike. A sample
/// without connections between leaves has the factor 1 and takes no time. `catalog`: a directory, or empty. Errors:
/// those of the packet engine.
Result<std::vector<Slowdowns>> network_slowdowns(const predict::Predictor& machine, const std::string& catalog,
                                                 std::span<const NetworkSample> samples, const PacketSetup& even,
                                                 std::span<const PacketSetup> setups);

/// The step whose calls between servers take so many times as long, by purpose.
Result<StepResult> slowed_step(const TrainRun& run, const Slowdowns& slowdowns, double PurposeSlowdown::*factor);

}  // namespace busbar::step
