// The chain that bounds a call's time, cut into parts that follow each other and sum to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/id.h"
#include "busbar/topology/link.h"

namespace busbar::lowering {

enum class ChainPartKind : std::uint8_t {
  kLaunch,     ///< once per call
  kLatency,    ///< links and send overheads on the way
  kBandwidth,  ///< bytes over the narrowest link
  kSharing,    ///< waiting while other fluids of the call use the same links
};
const char* name_of(ChainPartKind kind);  ///< "launch", "latency", "bandwidth", "sharing"

struct ChainPart {
  ChainPartKind kind{};
  std::string phase;
  std::uint32_t from = kNone32,
                to = kNone32;  ///< members of the call between whom the part runs; kNone32: a link's load
  std::uint32_t first_round = 0, rounds = 0;        ///< 0 rounds: not of certain rounds
  topology::LinkId link = kNone<topology::LinkId>;  ///< the narrowest on the way, or the busiest
  double ps = 0;
};

/// The chain of one fluid of a stage.
struct StageChain {
  std::uint32_t fluid = kNone32;  ///< kNone32: no chain is known
  double ps = 0;                  ///< the time alone of the fluid, as far as known when it was traced
  std::vector<ChainPart> parts{};
};

double sum_ps(const std::vector<ChainPart>& parts);

/// Makes `parts` sum to `total_ps` exactly: what an engine takes beyond the closed form is sharing on `busiest`;
/// round-off goes to the longest part. Pre: parts sum to no more than total_ps but for round-off.
void close_sum(std::vector<ChainPart>& parts, double total_ps, topology::LinkId busiest, const std::string& phase);

}  // namespace busbar::lowering
