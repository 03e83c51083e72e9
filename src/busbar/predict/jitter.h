// Links that sometimes delay messages, and the effect on a collective: --jitter.
#pragma once

#include <string>
#include <vector>

#include "busbar/engine/engine.h"

namespace busbar::predict {

/// "node3.nic2=1%x50us": these cables delay one message in a hundred, in either direction, by 50 us. A loss is a delay
/// by the retransmission timeout. Errors name the flag.
Result<std::vector<lowering::LinkDelay>> parse_jitter(const std::vector<std::string>& texts,
                                                      const topology::Topology& topology);

/// The effect of delays over many calls.
struct JitterEffect {
  double expected_hits = 0;  ///< expected number of delays on the longest chain of one call
  double calls_hit_percent = 0;
  Duration without;  ///< the time without delays
  Duration p99;      ///< 99 of 100 calls take at most this time
};
/// From the time without and the expected time with `delays`. Delays are Poisson, each as long as the longest one.
JitterEffect jitter_effect(Duration without, Duration expected, const std::vector<lowering::LinkDelay>& delays);

std::string jitter_to_text(const JitterEffect& effect, Duration expected);

}  // namespace busbar::predict
