// Hashed flows towards one attachment of NICs: the next hops from every switch, computed on first use. Private to
// routing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "busbar/base/random.h"
#include "busbar/routing/fabric_table.h"

namespace busbar::routing {

/// Takes the ways of Router's static hash: among equal hops, the flow and the switch select one.
class PairWalk {
 public:
  struct Hop {
    topology::LinkId link;  ///< at the last switch: the number of the NIC's port
    std::uint32_t next;     ///< switch
    double ps;              ///< its latency
  };
  struct Row {
    std::uint32_t first = 0, count = 0;
    std::uint32_t made = 0;  ///< the target it was computed for
    bool last = false;       ///< the NIC is attached to this switch
    std::uint64_t salt = 0;  ///< of the switch
  };
  PairWalk(const topology::Topology& topology, FabricTable& fabric, std::uint64_t seed)
      : topology_(topology), fabric_(fabric), seed_(seed) {}

  /// Sets the target: NICs with ports on these switches. `latency_ps`: per link class.
  void aim(std::span<const std::uint32_t> ports, std::span<const double> latency_ps);
  /// Hops from a switch to the NIC, the last one included; FabricTable::kFar: there is no way.
  int hops(std::uint32_t from);
  /// Precondition: hops() was called for a switch at least as far, and `at` reaches the NIC.
  const Row& row(std::uint32_t at) {
    if (rows_[at].made != target_) make(at);
    return rows_[at];
  }
  const Hop& hop(const Row& row, std::uint64_t flow) const {
    if (row.count == 1) return hops_[row.first];
    const std::uint64_t h = mix64(flow ^ row.salt);
    return hops_[row.first + ((row.count & (row.count - 1)) == 0 ? h & (row.count - 1) : h % row.count)];
  }

 private:
  void make(std::uint32_t at);
  int nearer(std::uint32_t from) const;
  const topology::Topology& topology_;
  FabricTable& fabric_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> ports_;
  std::span<const double> latency_ps_;
  std::vector<Row> rows_;
  std::vector<Hop> hops_;
  std::uint32_t target_ = 0;
};

}  // namespace busbar::routing
