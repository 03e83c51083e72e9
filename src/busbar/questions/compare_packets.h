// Steps and calls on a fabric whose packets are simulated, and what each cause adds before tuning.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/base/result.h"
#include "busbar/spec/fabric_words.h"
#include "busbar/step/train_run.h"

namespace busbar::questions {

/// What one cause adds to the step.
struct PacketCauseResult {
  std::string cause, title;
  double added_s = 0;        ///< as long as the step or call is longer with it; at least 0
  double percent = 0;        ///< of the tuned step
  double share_percent = 0;  ///< of all that tuning takes away; 0 if that is nothing
};
const Record& record_of(const PacketCauseResult*);

/// The transfers of one purpose that were sent.
struct PacketSampleResult {
  std::string purpose;  ///< "dp"
  std::uint64_t connections = 0, between_leaves = 0;
  std::uint32_t leaves = 0, leaves_of_machine = 0;
  double times_as_long = 1;  ///< as over even paths
  double pauses = 0;         ///< frames that stopped a port
};
const Record& record_of(const PacketSampleResult*);

struct PacketTimes {
  std::string transport, paths;
  double even_s = 0;             ///< the step if all paths carried alike, as fluids have it
  double tuned_s = 0;            ///< without all causes; without causes: the step
  double low_s = 0, high_s = 0;  ///< with the luckiest and the unluckiest seed of the hash of paths
  std::vector<PacketCauseResult> causes;
  std::vector<PacketSampleResult> samples;
  std::string source;
};
const Record& record_of(const PacketTimes*);

/// Sends the transfers of the step and makes the step as long as they need. Causes are taken away in their order; the
/// step never grows by that, and each of its times is at least the tuned one.
Result<PacketTimes> send_packets(const spec::FabricPackets& how, step::TrainRun& run);
/// The same of a prepared call, which takes `time_s` over even paths and then as long as it needs.
Result<PacketTimes> send_packets(const spec::FabricPackets& how, const predict::Predictor& machine,
                                 const program::CollectiveCall& call, const std::string& catalog, double& time_s);

}  // namespace busbar::questions
