// Links that hold messages up now and then, and what that does to a collective: --jitter.
#pragma once

#include <string>
#include <vector>

#include "busbar/engine/engine.h"

namespace busbar {

/// "node3.nic2=1%x50us": one message in a hundred over these cables, in either direction, is held up for 50 us; a loss
/// is a hold-up by the retransmission timeout. Errors carry the flag.
Result<std::vector<LinkDelay>> parse_jitter(const std::vector<std::string>& texts, const Topology& topology);

/// How hold-ups spread over many calls.
struct JitterEffect {
  double expected_hits = 0;  ///< hold-ups on the longest chain of one call
  double calls_hit_percent = 0;
  Duration without;  ///< the time if nothing were held up
  Duration p99;      ///< 99 of 100 calls take no longer
};
/// From the time without and the expected time with `delays`: hits are taken as Poisson, each of the longest delay.
JitterEffect jitter_effect(Duration without, Duration expected, const std::vector<LinkDelay>& delays);

std::string jitter_to_text(const JitterEffect& effect, Duration expected);

}  // namespace busbar
