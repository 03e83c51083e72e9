// When each flow of a list ends, and what limits it: by fair sharing, or packet by packet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/engine/flow/flow_list_run.h"
#include "busbar/predict/band.h"
#include "busbar/predict/penalties.h"
#include "busbar/questions/bound_by.h"
#include "busbar/questions/context.h"
#include "busbar/questions/flow_source.h"
#include "busbar/questions/flow_times.h"
#include "busbar/questions/packet_flows.h"
#include "busbar/questions/packet_request.h"
#include "busbar/questions/packet_watch.h"
#include "busbar/questions/question.h"

namespace busbar::questions {

struct FlowsRequest {
  std::string cluster;
  PacketRun packets;
  std::optional<std::int64_t> seed;
  std::string cdf;  ///< file to write
  std::uint32_t links = 1000;
  FlowSource source;
  WatchRequest watch;
  PacketExtras extras;
  std::string engine = "flow";
  spec::Overrides machine;
  bool explain = false, page = false;
};
const Record& record_of(const FlowsRequest*);

/// A run of fluids: what rows and views read.
struct FluidRun {
  std::shared_ptr<const spec::Cluster> machine;
  NamedFlows named;
  engine::FlowListResult result;
  std::vector<std::uint32_t> by_fct;     ///< flows that have ended, without work, slowest first
  std::vector<engine::LinkUse> busiest;  ///< the fullest links in descending order
  Duration floor;                        ///< largest load of a link at its wire rate
  std::string warning;                   ///< of below_floor()
  predict::Band band;
  std::optional<predict::Penalties> penalties;  ///< of a transport

  const predict::Penalties* by() const { return penalties ? &*penalties : nullptr; }
  double fct_us(double quantile) const;
  /// Busy time divided by the time of the whole run.
  double mean_use(const engine::LinkUse& use) const;
  /// The flow that ends last, of those that have ended.
  const engine::FlowOutcome& last() const;
};
lowering::Bound bound_of(const engine::FlowOutcome& flow);

struct FctSummary {
  double min = 0, p50 = 0, p99 = 0, max = 0;
};
const Record& record_of(const FctSummary*);

struct FluidParts {
  std::optional<double> latency, transfer, sharing;
};
const Record& record_of(const FluidParts*);

/// All null: it has not ended.
struct FluidRow {
  std::string id;
  std::uint64_t bytes = 0;
  std::optional<double> start_us, fct_us;
  FluidParts parts_us;
  std::optional<std::string> held_by;
};
const Record& record_of(const FluidRow*);

struct FluidLink {
  std::string link;
  double bytes = 0;
  std::uint32_t flows = 0;
  double mean_use_percent = 0;
};
const Record& record_of(const FluidLink*);

struct FluidResult {
  std::string cluster, engine, inputs_hash;
  double makespan_us = 0, floor_us = 0;
  FctSummary fct_us;
  BoundBy bound_by;
  std::vector<double> band_percent;
  std::string band_basis;
  std::uint64_t events = 0, rate_changes = 0, flows_done = 0;
  bool complete = true;
  std::optional<std::string> warning;
  std::vector<std::string> assumptions;
  std::vector<CdfPoint> fct_cdf;
  std::vector<FctOfSize> fct_by_size;
  std::optional<PenaltiesResult> penalties;
  std::optional<MeanTime> fct_with_penalties_us;
  std::vector<JobEnd> jobs;
  Rows<FluidRow> flows;
  std::vector<FluidLink> links;
  std::uint64_t links_used = 0;
  std::optional<std::vector<std::string>> shortcuts;
  std::vector<OutputFile> files;
  // For views only:
  std::shared_ptr<const FluidRun> run;
  FlowTimes times;
};
const Record& record_of(const FluidResult*);

using FlowsAnswer = std::variant<FluidResult, PacketFlowsResult>;
Result<FlowsAnswer> answer(const FlowsRequest& request, const Context& context = {});

}  // namespace busbar::questions
