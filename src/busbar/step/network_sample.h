// What calls send between servers, seen from a few leaf switches: flows for the packet engine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "busbar/program/flow_list.h"
#include "busbar/step/train_run.h"

namespace busbar::step {

/// The connections of all calls of one purpose that begin or end on some leaves, without those inside a leaf that share
/// no NIC with others. They start at once, as the calls of all groups do. Their number on the uplinks of these leaves
/// is that of the whole machine; elsewhere it is lower.
struct NetworkSample {
  program::OpClass purpose{};
  program::FlowList flows;     ///< one per connection: between NICs, with all bytes of a call or in proportion fewer
  std::uint32_t crossing = 0;  ///< connections between two leaves: the others meet no others on a cable
  std::uint32_t leaves = 0;    ///< of the sample
  std::uint32_t leaves_of_machine = 0;
};

/// The connections of prepared calls. Nothing if they send nothing between servers. Errors: those of schedules.
Result<std::optional<NetworkSample>> network_sample(const predict::Predictor& machine,
                                                    std::span<const program::CollectiveCall* const> calls);
/// One per purpose with calls between servers, in the order of purposes: of calls over the same groups the one that
/// takes most time. Pre: run.step is timed.
Result<std::vector<NetworkSample>> network_samples(const TrainRun& run);

}  // namespace busbar::step
