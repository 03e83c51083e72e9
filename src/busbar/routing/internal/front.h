// How far a connection has spread: the devices it has reached, and the links it may take next. Private to routing.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "busbar/routing/link_share.h"

namespace busbar {

/// Work space of one walk; reused so that routing does not allocate.
class Front {
 public:
  struct At {
    DeviceId device;
    double share;
  };
  std::vector<LinkId> candidates;  ///< of the device in hand

  void start() { next_.clear(); }
  /// Makes what was reached the front.
  const std::vector<At>& advance() {
    std::swap(front_, next_);
    next_.clear();
    return front_;
  }
  /// Sends `share` on over the candidates in proportion to their undamaged rates.
  void split(const Topology& t, double share, std::vector<LinkShare>& out) {
    split_by([&](LinkId l) { return static_cast<double>(per_second(t.link_class(l).wire_rate)); }, t, share, out);
  }
  /// The same in proportion to `pull` of each candidate, above 0; one that draws too_weakly() is left out.
  template <typename Pull>
  void split_by(const Pull& pull, const Topology& t, double share, std::vector<LinkShare>& out) {
    double total = 0, most = 0;
    pulls_.clear();
    for (const LinkId l : candidates) {
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
  /// A way beside one that draws more than 256 times as strongly is not taken: else fair rates, which hang on the
  /// fullest link of a flow, would hang on one that it hardly uses.
  static bool too_weakly(double pull, double beside) { return pull * 256 < beside; }

 private:
  void reach(DeviceId at, double share) {
    for (At& f : next_) {
      if (f.device != at) continue;
      f.share += share;
      return;
    }
    next_.push_back({at, share});
  }
  std::vector<At> front_, next_;
  std::vector<double> pulls_;  ///< of `candidates`
};

}  // namespace busbar
