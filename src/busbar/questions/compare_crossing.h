// Where a machine catches up with another one while one of its keys grows: "8 slowly linked GPUs against 4 fast ones".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/questions/compare_run.h"

namespace busbar::questions {

/// As typed: "node.links[0].rate=20..450GB/s".
struct CrossingAsk {
  std::string key, unit;
  double from = 0, to = 0;
  std::string words(double value) const;    ///< "31.5 GB/s"
  std::string setting(double value) const;  ///< for --set: "node.links[0].rate=31.5GB/s"
};
/// Errors name the field `crossing`.
Result<CrossingAsk> parse_crossing(const std::string& text);

struct CrossingPoint {
  double value = 0, tokens_per_s = 0;
};
struct MachineCrossing {
  CrossingAsk ask;
  std::string slow, fast;  ///< the machines as typed
  std::uint32_t slow_gpus = 0, fast_gpus = 0;
  double fast_tokens_per_s = 0;
  std::vector<CrossingPoint> tried;  ///< of the slow machine, ascending
  bool found = false;
  double value = 0;  ///< then: the least one tried at which it is as fast, within 1 %
};
/// `ask` has two machines; the key is set on the first. Bisection between the ends, of which only one must be faster.
Result<MachineCrossing> find_crossing(const CompareAsk& ask, const CrossingAsk& crossing, const Context& context);

/// "4 GPUs of A are as fast as 8 of B from 31.5 GB/s on."
std::string crossing_words(const MachineCrossing& crossing);

}  // namespace busbar::questions
