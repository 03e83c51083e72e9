// Loads of links from all pairs of many GPUs, without routing each pair separately if pairs are alike.
//
// A way between two blocks has three parts: from the GPU to a NIC, over the fabric, from a NIC to the GPU. The first
// part depends on the sender, on the receiver's NIC and on that NIC's kind of server. The last part depends on the
// receiver alone. The part in between depends on the switches of the two NICs. So members that look alike to the fabric
// form a class, and loads are counted per pair of classes. A hashed flow walks the fabric separately, over a table of
// next hops made once per attachment of receivers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/base/stop_flag.h"
#include "busbar/routing/router.h"

namespace busbar::routing {

/// Members of a group; each sends to every other.
struct PairEnds {
  std::vector<topology::DeviceId> gpu;  ///< per member; its GPUs name a flow
  std::vector<topology::DeviceId> at;   ///< per member: device of the GPU's block where its payload leaves and arrives
  std::vector<double> before_ps;        ///< per member: latency from the GPU to `at`
  std::vector<double> after_ps;         ///< per member: latency from `at` to the GPU
  std::vector<topology::DeviceId> nic;  ///< per member and lane
  std::vector<std::uint32_t> lane;      ///< per lane, its number in flow names; lanes share the bytes equally
  bool operator==(const PairEnds&) const = default;
};

struct PairLoads {
  struct At {
    CapacityId on;    ///< a link or a bundle
    double pairs;     ///< sum of the shares of all pairs that cross it
    double least_ps;  ///< lower bound of these pairs' latencies; exact for one class of them
  };
  std::vector<At> on;                             ///< ascending
  double latest_ps = 0;                           ///< largest latency of a pair, without overheads
  std::vector<double> least_out_ps, least_in_ps;  ///< per member, of the pairs it sends to and receives from
};

class PairSpread {
 public:
  /// `threads`: that walk hashed flows; 0: a core each, if others leave any, where there are many flows. The result
  /// does not depend on them.
  explicit PairSpread(const Router& router, std::uint32_t threads = 0);
  ~PairSpread();

  /// Loads of all ordered pairs of members in different blocks, as Router::spread (or spread_bundled) routes them.
  /// `latency_ps`: per link class. Null if classes do not describe the ways of some pairs (cables between servers, NICs
  /// that only the receiver's side can relay to); route those pairs one by one. Errors: kUnsupported for more than some
  /// ten seconds of work: 2^28 hashed flows, 2^20 ways between switches that are split, or a table of 2^24 pairs of
  /// attachments; what `interrupted` returns, if `stop` ends the work. The result is valid until the next call; a call
  /// with the same arguments costs nothing.
  Result<const PairLoads*> between_blocks(const PairEnds& ends, std::span<const double> latency_ps, bool bundled,
                                          const SplitBias& bias, StopFlag stop = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace busbar::routing
