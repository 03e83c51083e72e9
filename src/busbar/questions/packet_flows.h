// A list of flows packet by packet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/packet/packet_list.h"
#include "busbar/questions/context.h"
#include "busbar/questions/flow_source.h"
#include "busbar/questions/flow_times.h"
#include "busbar/questions/packet_courses.h"
#include "busbar/questions/packet_request.h"
#include "busbar/questions/question.h"
#include "busbar/spec/cluster.h"

namespace busbar::questions {

struct FlowsRequest;

/// A run: what rows and views read.
struct PacketFlowsRun {
  std::shared_ptr<const spec::Cluster> machine;
  NamedFlows named;
  packet::PacketOptions options;
  packet::PacketResult result;
  std::size_t done = 0;                     ///< with work
  std::vector<std::uint32_t> by_fct;        ///< flows that have ended, without work, slowest first
  std::vector<packet::PacketLink> busiest;  ///< most bytes per rate first
  PacketCourses courses;

  std::size_t listed() const { return result.flows.size() - result.background; }
  double fct_us(double quantile) const;
  double mean_us() const;
  double background_mean_us() const;
  /// The time at which the last of the listed flows had `what`.
  SimTime last(Duration packet::PacketOutcome::*what) const;
  double use_percent(const packet::PacketLink& link) const;
};
/// The parts of a flow's time with their names.
std::vector<std::pair<const char*, Duration>> parts_of(const packet::PacketOutcome& flow);

struct PacketFct {
  double min = 0, mean = 0, p50 = 0, p99 = 0, max = 0;
};
const Record& record_of(const PacketFct*);

struct LaneRow {
  std::uint64_t lane = 0, data = 0, resent = 0, trimmed = 0, dropped = 0, marked = 0, pauses = 0;
  double paused_us = 0;
};
const Record& record_of(const LaneRow*);

struct BackgroundRow {
  std::uint64_t flows = 0;
  double mean_fct_us = 0;
};
const Record& record_of(const BackgroundRow*);

/// What is absent: the flow has not ended.
struct PacketFlowRow {
  std::string id;
  std::uint64_t bytes = 0;
  std::optional<double> start_us, fct_us, received_us, slowdown;
  Named<double> parts_us;
  std::optional<std::uint32_t> resent;
  std::optional<std::optional<std::string>> held_by;
};
const Record& record_of(const PacketFlowRow*);

struct QueueBytes {
  std::uint64_t p50 = 0, p99 = 0, max = 0;
};
const Record& record_of(const QueueBytes*);

struct PacketLinkRow {
  std::string link;
  std::uint64_t bytes = 0;
  double mean_use_percent = 0;
  QueueBytes queue_bytes;
  std::optional<std::uint32_t> marks, trims, drops, pauses;
  std::optional<double> paused_us;
};
const Record& record_of(const PacketLinkRow*);

struct PacketFlowsResult {
  std::string cluster, engine, transport, lb;
  std::uint64_t seed = 0;
  std::string inputs_hash;
  double makespan_us = 0, received_us = 0;
  PacketFct fct_us;
  std::uint64_t packet_hops = 0;
  packet::PacketCounts packets;
  std::vector<LaneRow> lanes;
  Json settings;
  std::uint64_t flows_done = 0;
  bool complete = true;
  std::string digest;
  std::vector<std::string> assumptions, faults;
  std::optional<BackgroundRow> background;
  std::optional<std::string> stuck;
  std::vector<CdfPoint> fct_cdf;
  std::vector<FctOfSize> fct_by_size;
  std::vector<JobEnd> jobs;
  Rows<PacketFlowRow> flows;
  std::vector<PacketLinkRow> links;
  std::uint64_t links_used = 0;
  int exit_status = 0;
  Json of_run;
  std::vector<OutputFile> files;
  // For views only:
  std::shared_ptr<const PacketFlowsRun> run;
  FlowTimes times;
};
const Record& record_of(const PacketFlowsResult*);

Result<PacketFlowsResult> time_packets(const FlowsRequest& request, const Context& context);

}  // namespace busbar::questions
