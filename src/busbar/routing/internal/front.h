// The front of one connection as it spreads: devices reached, and links it may take next. Private to routing.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "busbar/routing/link_share.h"

namespace busbar::routing {

/// Work space of one walk; reused, so routing allocates nothing.
class Front {
 public:
  struct At {
    topology::DeviceId device;
    double share;
  };
  std::vector<topology::LinkId> candidates;  ///< of the current device

  void start() { next_.clear(); }
  /// Makes the devices just reached the front.
  const std::vector<At>& advance() {
    std::swap(front_, next_);
    next_.clear();
    return front_;
  }
  /// Splits `share` over the candidates in proportion to their undamaged rates.
  void split(const topology::Topology& t, double share, std::vector<LinkShare>& out) {
    split_by([&](topology::LinkId l) { return static_cast<double>(per_second(t.link_class(l).wire_rate)); }, t, share,
             out);
  }
  /// The same in proportion to `pull` of each candidate, above 0. Leaves out a candidate that draws too_weakly().
  template <typename Pull>
  void split_by(const Pull& pull, const topology::Topology& t, double share, std::vector<LinkShare>& out) {
    double total = 0, most = 0;
    pulls_.clear();
    for (const topology::LinkId l : candidates) {
      pulls_.push_back(pull(l));
      most = std::max(most, pulls_.back());
    }
    for (double& p : pulls_) total += p = too_weakly(p, most) ? 0 : p;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (pulls_[i] == 0) continue;
      const double part = share * pulls_[i] / total;
      out.push_back({candidates[i], part});
      reach(t.to(candidates[i]), part);
    }
  }
  /// A way is not taken if another draws more than 256 times as strongly. Otherwise a link that carries almost none of
  /// a flow could limit its fair rate.
  static bool too_weakly(double pull, double other) { return pull * 256 < other; }

 private:
  void reach(topology::DeviceId at, double share) {
    if (index(at) >= place_.size()) place_.resize(index(at) + 1);
    std::uint32_t& place = place_[index(at)];
    if (place < next_.size() && next_[place].device == at) {
      next_[place].share += share;
      return;
    }
    place = static_cast<std::uint32_t>(next_.size());
    next_.push_back({at, share});
  }
  std::vector<At> front_, next_;
  std::vector<std::uint32_t> place_;  ///< by device: where it stands in `next_`, if it does
  std::vector<double> pulls_;  ///< of `candidates`
};

}  // namespace busbar::routing
