// Queues, rates and windows in the course of a packet run, as pictures.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "busbar/packet/packet_list.h"
#include "busbar/report/document.h"
#include "busbar/topology/topology.h"

namespace busbar {

/// Collects samples of a run for charts. Of long runs it keeps every second, fourth, ... sample: at most kMostSamples.
class PacketCourses {
 public:
  /// Makes a run with `options` report here, in addition to its other observers. It must outlive the run.
  void watch(PacketOptions& options);
  /// The longest queues, the busiest links and the windows of `flows`, over time; without samples: none. `name_of`: the
  /// id of a flow.
  std::vector<Drawing> draw(const Topology& topology, std::span<const std::uint32_t> flows,
                            const std::function<std::string(std::uint32_t)>& name_of) const;

 private:
  static constexpr std::size_t kMostSamples = 1024, kMostEntries = std::size_t{1} << 23;
  struct Sample {
    double s = 0, length_s = 0;
    std::vector<std::uint64_t> sent, queue;  ///< per wire; sent: since the sample before
    std::vector<std::pair<std::uint32_t, double>> windows;
  };
  void take(SimTime now, std::span<const PacketLinkSample> links, std::span<const PacketFlowSample> flows);
  void thin();

  std::vector<LinkId> links_;
  std::vector<std::uint64_t> sent_;  ///< per wire, at the last kept sample
  std::vector<Sample> samples_;
  double last_s_ = 0;
  std::size_t every_ = 1, seen_ = 0, entries_ = 0;
};

}  // namespace busbar
