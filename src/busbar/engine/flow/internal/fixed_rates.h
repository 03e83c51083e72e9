// Fair rates of transfers whose ways stay as they are.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "busbar/base/id.h"
#include "busbar/solve/online_max_min.h"
#include "busbar/topology/link.h"

namespace busbar::engine {

/// What TransferClock asks for, by OnlineMaxMin over densely numbered links.
class FixedRates {
 public:
  /// `link_of` and `capacity` (bytes per ps): by dense number.
  FixedRates(const std::vector<topology::LinkId>& link_of, std::vector<double> capacity, const Shortcuts& shortcuts)
      : link_of_(link_of), solver_(std::move(capacity), shortcuts) {}
  /// The next item's links by dense number; none for one that sends nothing.
  void add(std::span<const std::uint32_t> links, std::span<const double> weights, double cap) {
    solver_.add_flow(links, weights, cap);
  }
  void open(std::uint32_t item) { solver_.open(item); }
  void close(std::uint32_t item) { solver_.close(item); }
  void settle(std::int64_t /*now_ps*/) { solver_.settle(); }
  std::span<const std::uint32_t> changed() const { return solver_.changed(); }
  double rate(std::uint32_t item) const { return solver_.rate(item); }
  /// The link that holds it back; kNone: nothing, or its cap.
  topology::LinkId held_by(std::uint32_t item) const {
    const std::uint32_t l = solver_.held_by(item);
    return l == kNone32 ? kNone<topology::LinkId> : link_of_[l];
  }

 private:
  const std::vector<topology::LinkId>& link_of_;
  solve::OnlineMaxMin solver_;
};

}  // namespace busbar::engine
