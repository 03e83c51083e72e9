// What links and flows do over the time of a run of packets, for pictures.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "busbar/packet/packet_list.h"

namespace busbar::questions {

/// Collects samples of a run. Of long runs it keeps every second, fourth, ... sample: at most kMostSamples.
class PacketCourses {
 public:
  struct Sample {
    double s = 0, length_s = 0;
    std::vector<std::uint64_t> sent, queue;  ///< per wire; sent: since the sample before
    std::vector<std::pair<std::uint32_t, double>> windows;
  };
  /// Makes a run with `options` report here, in addition to its other observers. It must outlive the run.
  void watch(packet::PacketOptions& options);
  const std::vector<topology::LinkId>& links() const { return links_; }  ///< per wire
  const std::vector<Sample>& samples() const { return samples_; }

 private:
  static constexpr std::size_t kMostSamples = 1024, kMostEntries = std::size_t{1} << 23;
  void take(SimTime now, std::span<const packet::PacketLinkSample> links,
            std::span<const packet::PacketFlowSample> flows);
  void thin();

  std::vector<topology::LinkId> links_;
  std::vector<std::uint64_t> sent_;  ///< per wire, at the last kept sample
  std::vector<Sample> samples_;
  double last_s_ = 0;
  std::size_t every_ = 1, seen_ = 0, entries_ = 0;
};

}  // namespace busbar::questions
