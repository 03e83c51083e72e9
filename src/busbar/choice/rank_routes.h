// What every pair of a group's ranks would load, over links numbered densely: the ground that synthesis builds on.
#pragma once

#include <span>
#include <vector>

#include "busbar/program/program.h"
#include "busbar/routing/placement.h"

namespace busbar {

class RankRoutes {
 public:
  /// A link on a route and the time it is busy there per byte of payload: share / payload rate.
  struct Part {
    std::uint32_t link;
    double ps_per_byte;
  };
  /// Routes of group 0 of `call`, as the engines lay them. Cost: one routing per ordered pair of ranks.
  RankRoutes(const Router& router, const Placement& placement, const CollectiveCall& call);
  std::uint32_t ranks() const { return ranks_; }
  std::uint32_t links() const { return links_; }
  std::span<const Part> route(std::uint32_t from, std::uint32_t to) const {
    const std::size_t i = std::size_t{from} * ranks_ + to;
    return std::span(parts_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }
  /// Whether a payload can get from one to the other.
  bool joined(std::uint32_t from, std::uint32_t to) const { return from == to || !route(from, to).empty(); }

 private:
  std::uint32_t ranks_ = 0, links_ = 0;
  std::vector<std::size_t> begin_;
  std::vector<Part> parts_;
};

}  // namespace busbar
