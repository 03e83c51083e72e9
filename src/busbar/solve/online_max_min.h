// Max-min fair rates, updated while flows come and go.
//
// Invariants after settle():
//  1. level[l] is the rate of the flows that link l limits, +infinity if it is not full.
//  2. rate[f] = min(cap of f, level over its links); `held_by` names the link that attains it.
//  3. Hence every open flow is at its cap or crosses a full link on which no flow is faster: the definition.
//  4. A link is never full if it could carry all flows known at the first open(), each at the rate of its
//     narrowest link. Of the links that only one flow uses, only the narrowest can be full. All others are in no sweep.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "busbar/base/id.h"
#include "busbar/base/shortcuts.h"

namespace busbar::solve {

/// Exact weighted max-min rates of the open flows. It solves again only where an opening or a closing changes rates.
///
/// Shapes:  add_flow() registers (link, weight) runs; open() and close() move them in and out; settle() brings all
///          rates up to date and leaves in changed() the flows whose rate is new.
/// Units:   any rate unit, the same for capacities, caps and rates; weights are pure numbers.
/// Pre:     links < capacity.size(); weights > 0; caps > 0; no link twice in one flow; a flow moves once per settle().
/// Result:  as MaxMinSolver; a relative change of a level below 1e-12 counts as none (rounding, not a model).
/// Source:  Bertsekas & Gallager, Data Networks (2nd ed.), section 6.5.2: the sweep over rising levels. It begins
///          at the links whose flows changed and continues only along flows whose rate changes.
/// Cost:    per settle, of the order of the links and flows whose rates change, times flows per link; no allocation
///          after the first run of a given size.
/// Order:   by (level, link), so equal inputs give bit-equal outputs.
/// Limits:  a flow added after the first open() costs one pass over all flows, and invariant 4 no longer holds.
class OnlineMaxMin {
 public:
  explicit OnlineMaxMin(std::vector<double> capacity, Shortcuts shortcuts = {});

  /// Registers a closed flow and returns its number.
  std::uint32_t add_flow(std::span<const std::uint32_t> links, std::span<const double> weights, double cap);
  void open(std::uint32_t flow);
  void close(std::uint32_t flow);
  void settle();

  double rate(std::uint32_t flow) const { return flows_[flow].rate; }
  /// The link that limits the flow; kNone32 if its cap does, or nothing.
  std::uint32_t held_by(std::uint32_t flow) const { return flows_[flow].held_by; }
  std::span<const std::uint32_t> changed() const { return changed_; }

 private:
  enum class State : std::uint8_t { kClean, kOpen, kFinal };
  /// One (flow, link) pair, in the ring list of the link's open flows.
  struct Crossing {
    std::uint32_t flow, link, next, previous;
    double weight;
  };
  struct Flow {
    std::uint32_t begin, end;  ///< its run in crossings_
    std::uint32_t live;        ///< end of the crossings whose links can be full
    std::uint32_t held_by = kNone32;
    std::uint32_t stamp = 0;  ///< sweep for which `state` is valid; otherwise clean
    State state = State::kClean;
    bool listed = false;  ///< in the lists of its links
    double rate = 0, before = 0, cap;
  };
  struct Link {
    double capacity, level, key;
    std::uint32_t first = kNone32;  ///< of its crossings
    std::uint32_t stamp = 0;        ///< sweep for which the next three are valid
    bool opened = false, done = false, pending = false;
  };
  struct Entry {
    double key;
    std::uint32_t item;  ///< link, or links + flow for a cap
    bool operator<(const Entry& o) const { return key != o.key ? key > o.key : item > o.item; }
  };

  void pass_over_idle_links();
  void heed_all_links();
  void list(std::uint32_t crossing);
  State state(const Flow& f) const { return f.stamp == sweep_ ? f.state : State::kClean; }
  double limit(const Flow& f, std::uint32_t link) const;
  double level_of(const Link& link, std::uint32_t l) const;
  void touch(std::uint32_t link);
  void weigh();
  void push(double key, std::uint32_t item);
  void open_held(std::uint32_t link);
  void release(std::uint32_t flow, std::uint32_t but);
  void fix(std::uint32_t flow, double rate, std::uint32_t by);
  void finish(std::uint32_t link, double level);

  Shortcuts shortcuts_;  ///< kIdleLinks, kPrivateLinks
  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<Crossing> crossings_;
  std::vector<Entry> heap_;
  std::vector<std::uint32_t> changed_, fresh_, touched_, pending_;
  std::uint32_t sweep_ = 1;
  enum class Links : std::uint8_t { kNew, kWithoutIdle, kAll } heeded_ = Links::kNew;
};

}  // namespace busbar::solve
