// Where a machine catches up with another one while one of its keys grows: "8 slowly linked GPUs against 4 fast ones".
#pragma once

#include <string>

#include "busbar/base/json.h"
#include "busbar/cli/compare_run.h"
#include "busbar/report/document.h"

namespace busbar {

/// As typed: "node.links[0].rate=20..450GB/s".
struct CrossingAsk {
  std::string key, unit;
  double from = 0, to = 0;
  std::string setting(double value) const;  ///< for --set: "node.links[0].rate=31.5GB/s"
};
/// Errors name --crossing.
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
Result<MachineCrossing> find_crossing(const CompareAsk& ask, const CrossingAsk& crossing, LongRun& watch);

Json crossing_json(const MachineCrossing& crossing);
Document crossing_document(const MachineCrossing& crossing, const std::string& typed);

}  // namespace busbar
