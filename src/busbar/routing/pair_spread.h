// What all pairs of many GPUs load links with, without routing each pair where pairs are alike.
//
// A way between two blocks has three parts: from the GPU to a NIC, over the fabric, from a NIC to the GPU. The first
// hangs on the sender and on which NIC of which sort of server the receiver sits behind, the last on the receiver
// alone, and the one in between on the switches that the two NICs hang on; so members that are alike to the fabric make
// a class, and loads are counted per pair of classes. Where flows are hashed each walks the fabric by itself, over a
// table of next hops made once per attachment of receivers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/routing/router.h"

namespace busbar {

/// Members of a group of which each sends to every other.
struct PairEnds {
  std::vector<DeviceId> gpu;        ///< per member; a flow is known by its GPUs
  std::vector<DeviceId> at;         ///< per member: where its payload leaves from and arrives, of the GPU's block
  std::vector<double> before_ps;    ///< per member: latency from the GPU to `at`
  std::vector<double> after_ps;     ///< per member: latency from `at` to the GPU
  std::vector<DeviceId> nic;        ///< per member and lane
  std::vector<std::uint32_t> lane;  ///< the number by which flows know each lane; lanes share the bytes equally
  bool operator==(const PairEnds&) const = default;
};

struct PairLoads {
  struct At {
    LinkId link;      ///< or a bundle
    double pairs;     ///< sum of the shares of those that cross it
    double least_ps;  ///< latency: of no pair that crosses it less; of some class of them exactly that
  };
  std::vector<At> links;                          ///< ascending
  double latest_ps = 0;                           ///< largest latency of a pair, without overheads
  std::vector<double> least_out_ps, least_in_ps;  ///< per member, of the pairs it sends to and receives from
};

class PairSpread {
 public:
  explicit PairSpread(const Router& router);
  ~PairSpread();

  /// Loads of all ordered pairs of members in different blocks, as Router::spread (or spread_bundled) routes them.
  /// `latency_ps`: per link class. Null where pairs go ways that classes do not describe (cables between servers, NICs
  /// that only the receiver's side can relay to): those are to be routed one by one.
  /// Errors: kUnsupported where that is more than some ten seconds of work: 2^28 hashed flows, 2^20 ways between
  /// switches that are split, or a table of 2^24 pairs of attachments. The result holds until the next call; asked for
  /// the same again it is not worked out again.
  Result<const PairLoads*> between_blocks(const PairEnds& ends, std::span<const double> latency_ps, bool bundled,
                                          const SplitBias& bias);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace busbar
