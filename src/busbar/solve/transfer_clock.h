// Transfers in progress, event by event: what each has left at its rate, and the order of their starts and ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "busbar/base/stop_flag.h"
#include "busbar/base/units.h"
#include "busbar/solve/end_queue.h"

namespace busbar::solve {

/// Starts and ends in order of (time, item), ends first, all of one picosecond before rates are settled.
///
/// Rates: open(item), close(item), settle(now_ps), then changed(), the items whose rate is new, and rate(item) in bytes
/// per ps.
template <typename Rates>
class TransferClock {
 public:
  /// `stop`: run() ends early once it is set.
  TransferClock(Rates& rates, std::uint32_t items, StopFlag stop = nullptr)
      : rates_(rates), progress_(items), stop_(stop) {
    starts_.reset(items);
    ends_.reset(items);
  }
  void start_at(std::uint32_t item, std::int64_t ps) { starts_.set(item, ps); }
  /// Without sending anything.
  void end_at(std::uint32_t item, std::int64_t ps) { ends_.set(item, ps); }
  void send(std::uint32_t item, double bytes, std::int64_t now_ps) {
    progress_[item] = {bytes, 0, now_ps, true};
    rates_.open(item);
  }
  /// Calls start(item, now_ps) and end(item, now_ps), which may call the three above. Returns the number of times at
  /// which something happened.
  template <typename Start, typename End>
  std::uint64_t run(Start start, End end) {
    std::uint64_t events = 0;
    for (; (!starts_.empty() || !ends_.empty()) && !stops(stop_); ++events) {
      const std::int64_t now =
          std::min(starts_.empty() ? INT64_MAX : starts_.next_ps(), ends_.empty() ? INT64_MAX : ends_.next_ps());
      while (!ends_.empty() && ends_.next_ps() == now) {
        const std::uint32_t item = ends_.next_item();
        ends_.erase(item);
        end(item, now);
        if (progress_[item].open) rates_.close(item);
        progress_[item].open = false;
      }
      while (!starts_.empty() && starts_.next_ps() == now) {
        const std::uint32_t item = starts_.next_item();
        starts_.erase(item);
        start(item, now);
      }
      settle(now);
    }
    return events;
  }
  /// Whether it is sending; in end(), whether it was.
  bool sends(std::uint32_t item) const { return progress_[item].open; }
  std::uint64_t rate_changes() const { return rate_changes_; }

 private:
  struct Progress {
    double left = 0, rate = 0;
    std::int64_t updated_ps = 0;
    bool open = false;
  };
  void settle(std::int64_t now) {
    rates_.settle(now);
    for (const std::uint32_t f : rates_.changed()) {
      Progress& p = progress_[f];
      p.left = std::max(0.0, p.left - p.rate * static_cast<double>(now - p.updated_ps));
      p.rate = rates_.rate(f);
      p.updated_ps = now;
      ends_.set(f, now + duration_from_ps(p.left / p.rate).in_ps());
    }
    rate_changes_ += rates_.changed().size();
  }
  Rates& rates_;
  std::vector<Progress> progress_;
  StopFlag stop_;
  EndQueue starts_, ends_;
  std::uint64_t rate_changes_ = 0;
};

}  // namespace busbar::solve
