// How packets are simulated: the fields that every question with a packet engine has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/packet/packet_list.h"
#include "busbar/questions/context.h"
#include "busbar/spec/cluster.h"

namespace busbar::packet {

const Record& record_of(const PacketCounts*);

}  // namespace busbar::packet

namespace busbar::questions {

/// Fluids take penalties from `transport`, and paths from `lb`.
struct PacketRun {
  std::string transport, lb;
  double patience = 1800;
};
const Record& record_of(const PacketRun*);

/// Faults, background traffic and lanes.
struct PacketExtras {
  bool cut_through = false;
  std::string background;
  std::vector<std::string> fault;
  std::string lanes;
  std::optional<std::int64_t> threads;
  std::string reroute_after;
};
const Record& record_of(const PacketExtras*);

template <typename Asked>
Field threads_field(std::optional<std::int64_t> Asked::*threads) {
  return Field("threads", threads, "", "simulate with N threads; results are equal (default: as many as pay)")
      .takes("N")
      .of("Packets")
      .with("engine=packet")
      .undecided();
}
/// 0 where no number is given.
Result<std::uint32_t> threads_of(const std::optional<std::int64_t>& threads);

/// Options with progress and notices to `context`. Fills in the defaults of `run`. Pre: its words are choices of its
/// fields. A fault is SELECTOR=WHAT[@FROM[..UNTIL]], with WHAT one of down, rate:SHARE, loss:SHARE, slow:SHARE, storm.
/// Times are durations since the start. slow and storm concern hosts, so they apply to links of the selector that end
/// at a host. Background traffic is LOAD:SIZES@UNTIL. Errors give the field, or file and line.
Result<packet::PacketOptions> packet_options_of(PacketRun& run, const PacketExtras& extras,
                                                std::optional<std::int64_t> seed, const spec::Cluster& cluster,
                                                const spec::Overrides& overrides, const Context& context);

/// The settings of a run that had an effect: bytes, microseconds, bytes per second, plain numbers and words.
Json settings_json(const std::vector<double>& settings);

}  // namespace busbar::questions
