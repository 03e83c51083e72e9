// The links that every pair of ranks would load, numbered densely. Synthesis starts from these routes.
//
// With several nodes, ranks at the same place send at the same time, so a pair of places loads links in every node.
// Nodes whose routes share links alike count as one; each link is as slow as the slowest in its place.
#pragma once

#include <span>
#include <vector>

#include "busbar/base/shortcuts.h"
#include "busbar/program/program.h"
#include "busbar/routing/placement.h"

namespace busbar::choice {

class RankRoutes {
 public:
  /// A link of a route, with its busy time per byte of payload: share / payload rate.
  struct Part {
    std::uint32_t link;
    double ps_per_byte;
  };
  /// The routes of group 0 of `call`, as the engines route them, over all NICs of a rank. With `equal_rates` as if all
  /// links were equally fast.
  /// Cost: one routing per ordered pair of ranks and NIC.
  RankRoutes(const routing::Router& router, const routing::Placement& placement, const program::CollectiveCall& call,
             bool equal_rates = false);
  /// Routes inside nodes, which are given by their ranks place by place, and from each node to the next.
  /// Precondition: at least two nodes, with equally many ranks.
  RankRoutes(const routing::Router& router, const routing::Placement& placement,
             std::span<const std::vector<std::uint32_t>> nodes, const Shortcuts& shortcuts);

  std::uint32_t ranks() const { return ranks_; }
  std::uint32_t links() const { return links_; }
  /// Whether equal rates would change nothing.
  bool has_equal_rates() const;
  std::span<const Part> route(std::uint32_t from, std::uint32_t to) const {
    return row(std::size_t{from} * ranks_ + to);
  }
  /// The loads of the ranks of `place` together when each sends to the next node, up to the cables of their NICs. Empty
  /// if there is one node or no path.
  std::span<const Part> across(std::uint32_t place) const { return row(std::size_t{ranks_} * ranks_ + place); }
  /// Whether a path for payload exists from one to the other.
  bool joined(std::uint32_t from, std::uint32_t to) const { return from == to || !route(from, to).empty(); }

 private:
  using Rows = std::vector<std::vector<Part>>;
  class Reader;
  void keep(const std::vector<Rows>& nodes);
  std::span<const Part> row(std::size_t i) const {
    return std::span(parts_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }

  std::uint32_t ranks_ = 0, links_ = 0;
  std::vector<std::size_t> begin_;
  std::vector<Part> parts_;
};

}  // namespace busbar::choice
