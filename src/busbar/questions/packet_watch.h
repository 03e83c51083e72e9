// What links and flows do in the course of a run, as CSV files.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/packet/packet_list.h"
#include "busbar/questions/flow_csv.h"
#include "busbar/questions/question.h"

namespace busbar::questions {

struct WatchRequest {
  std::string series, interval = "10us", log, log_flows;
};
const Record& record_of(const WatchRequest*);

/// Collects the rows of both files during a run. It must outlive the run.
class PacketWatch {
 public:
  PacketWatch(const WatchRequest& flags, const NamedFlows& flows, const topology::Topology& topology);
  /// Makes a run with `options` report here. Errors: the interval; flows to log that the list does not have.
  Status watch(packet::PacketOptions& options);
  /// Adds the files. Error kDoesNotFit if samples took more than kMostBytes.
  Status add_files(std::vector<OutputFile>& files);

 private:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  void sample(SimTime now, std::span<const packet::PacketLinkSample> links,
              std::span<const packet::PacketFlowSample> flows);
  void add_link(const packet::PacketLinkSample& now, const packet::PacketLinkSample& before, double us,
                double interval_s);
  std::string name_of_flow(std::uint32_t flow) const;
  std::string log_row(const packet::PacketLogEntry& e) const;

  const WatchRequest& flags_;
  const NamedFlows& flows_;
  const topology::Topology& topology_;
  SimTime last_;
  std::vector<packet::PacketLinkSample> links_;  ///< of the last sample
  std::vector<std::uint64_t> acked_;             ///< per flow: bytes acknowledged at the last sample
  std::string series_;
  std::vector<packet::PacketLogEntry> log_;
};

}  // namespace busbar::questions
