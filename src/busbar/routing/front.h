// How far a connection has spread: the devices it has reached, and the links it may take next. Private to routing.
#pragma once

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
  /// The same in proportion to `pull` of each candidate, above 0.
  template <typename Pull>
  void split_by(const Pull& pull, const Topology& t, double share, std::vector<LinkShare>& out) {
    double total = 0;
    for (const LinkId l : candidates) total += pull(l);
    for (const LinkId l : candidates) {
      const double part = share * pull(l) / total;
      out.push_back({l, part});
      reach(t.to(l), part);
    }
  }

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
};

}  // namespace busbar
