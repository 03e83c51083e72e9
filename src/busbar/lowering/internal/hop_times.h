// When the chunks of trees and chains cross each hop, waiting included.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "busbar/lowering/capacity_table.h"
#include "busbar/lowering/internal/routed_run.h"

namespace busbar::lowering {

/// A routed tree or chain.
struct HopRun {
  RoutedRun* run = nullptr;
  bool up = false;          ///< towards the root of the tree
  std::uint32_t stage = 0;  ///< with others of its stage: what they send first waits for all of stage - 1, if `waits`
  bool waits = false;
};

/// A link carries first the chunk that came first. Chunks that came at the same time share its rate.
class HopTimes {
 public:
  explicit HopTimes(const CapacityTable& table) : table_(table), number_(table.counts(), kNone32) {}

  /// Sends `chunks` chunks of the routed runs through all of their stages; returns when each stage has its last chunk.
  /// Connection::transfer_ps becomes what the last chunk took. `cap`: bytes per ps of a connection, 0: no limit.
  std::vector<double> send(std::span<const HopRun> runs, std::uint32_t chunks, double cap, const SentBytes& sent);

 private:
  struct Link {
    double rate;         ///< bytes per ps
    double load = 0;     ///< of the hops that start at one time; zero in between
    double free_at = 0;  ///< when it has carried the hops that were sent so far
  };
  /// A hop on a link.
  struct Crossing {
    std::uint32_t link = 0;
    double bytes = 0;  ///< of a chunk
  };
  std::vector<std::vector<Crossing>> crossings_of(std::span<const HopRun> runs, const SentBytes& sent,
                                                  std::vector<Link>& links);

  const CapacityTable& table_;
  routing::PerCapacity<std::uint32_t> number_;  ///< kNone32 between calls
};

}  // namespace busbar::lowering
