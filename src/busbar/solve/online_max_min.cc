#include "busbar/solve/online_max_min.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace busbar::solve {
namespace {

constexpr double kSame = 1e-12;  ///< relative; doubles have 1e-16, a sweep adds a few hundred of them

/// `b` finite or equal to `a`.
bool same(double a, double b) { return a == b || std::abs(a - b) <= kSame * std::abs(a); }

}  // namespace

OnlineMaxMin::OnlineMaxMin(std::vector<double> capacity, Shortcuts shortcuts) : shortcuts_(std::move(shortcuts)) {
  links_.reserve(capacity.size());
  for (const double c : capacity) links_.push_back({c, INFINITY, INFINITY});
}

std::uint32_t OnlineMaxMin::add_flow(std::span<const std::uint32_t> links, std::span<const double> weights,
                                     double cap) {
  if (heeded_ == Links::kWithoutIdle) heed_all_links();
  const auto f = static_cast<std::uint32_t>(flows_.size());
  const auto begin = static_cast<std::uint32_t>(crossings_.size());
  for (std::size_t i = 0; i < links.size(); ++i) crossings_.push_back({f, links[i], kNone32, kNone32, weights[i]});
  Flow flow{};
  flow.begin = begin;
  flow.end = flow.live = static_cast<std::uint32_t>(crossings_.size());
  flow.cap = cap;
  flow.held_by = kNone32;
  flows_.push_back(flow);
  return f;
}

/// Invariant 4: links that never limit a flow move to the end of its range.
void OnlineMaxMin::pass_over_idle_links() {
  constexpr double kSpare = 1e-9;  // relative; far above kSame, so that rounding fills no such link
  heeded_ = Links::kWithoutIdle;
  std::vector<double> demand(links_.size(), 0.0);
  std::vector<std::uint32_t> flows(links_.size(), 0);
  for (const Flow& f : flows_) {
    double most = f.cap;
    for (std::uint32_t c = f.begin; c < f.end; ++c)
      most = std::min(most, links_[crossings_[c].link].capacity / crossings_[c].weight);
    for (std::uint32_t c = f.begin; c < f.end; ++c) {
      demand[crossings_[c].link] += crossings_[c].weight * most;
      ++flows[crossings_[c].link];
    }
  }
  for (Flow& f : flows_) {
    std::pair<double, std::uint32_t> narrowest{INFINITY, kNone32};  // of the links that only it uses
    for (std::uint32_t c = f.begin; c < f.end; ++c)
      if (const Crossing& x = crossings_[c]; flows[x.link] == 1)
        narrowest = std::min(narrowest, {links_[x.link].capacity / x.weight, x.link});
    const auto can_be_full = [&](const Crossing& x) {
      const bool idle = demand[x.link] < links_[x.link].capacity * (1 - kSpare);
      if (idle && shortcuts_.take(Shortcut::kIdleLinks)) return false;
      const bool wider = flows[x.link] == 1 && x.link != narrowest.second;
      return !wider || !shortcuts_.take(Shortcut::kPrivateLinks);
    };
    const auto run = crossings_.begin();
    f.live = static_cast<std::uint32_t>(std::stable_partition(run + f.begin, run + f.end, can_be_full) - run);
  }
}

void OnlineMaxMin::heed_all_links() {
  heeded_ = Links::kAll;
  for (Flow& f : flows_) {
    for (std::uint32_t c = f.live; f.listed && c < f.end; ++c) list(c);
    f.live = f.end;
  }
}

void OnlineMaxMin::push(double key, std::uint32_t item) {
  heap_.push_back({key, item});
  std::push_heap(heap_.begin(), heap_.end());
}

/// The rate of `f` on link `l` if `l` did not limit it: the limit by its other links and its cap.
double OnlineMaxMin::limit(const Flow& f, std::uint32_t l) const {
  const State s = state(f);
  if (s == State::kOpen || (s == State::kClean && f.held_by == l)) return f.cap;
  return f.rate;
}

/// The level at which the link is full: sum of weight x min(limit, level) = capacity. The sum is concave and piecewise
/// linear in the level. So Newton's steps from below reach it exactly, in at most as many steps as it has pieces.
double OnlineMaxMin::level_of(const Link& link, std::uint32_t l) const {
  double level = 0;
  for (;;) {
    double taken = 0, open = 0, least = INFINITY;  // least: the smallest limit of open flows
    for (std::uint32_t c = link.first; c != kNone32; c = crossings_[c].next) {
      const double u = limit(flows_[crossings_[c].flow], l);
      if (u > level)
        open += crossings_[c].weight, least = std::min(least, u);
      else
        taken += crossings_[c].weight * u;
    }
    if (open == 0) return INFINITY;  // other links or caps limit all flows
    const double next = std::max(0.0, link.capacity - taken) / open;
    if (next <= level) return level;
    level = next;
    if (level < least) return level;  // no flow reaches its limit before that level
  }
}

/// Puts the link in the sweep; weigh() determines its place.
void OnlineMaxMin::touch(std::uint32_t l) {
  Link& link = links_[l];
  if (link.stamp != sweep_) {
    link.stamp = sweep_;
    link.opened = link.done = link.pending = false;
    link.key = INFINITY;
    touched_.push_back(l);
  }
  if (link.done || link.pending) return;
  link.pending = true;
  pending_.push_back(l);
}

/// Enters every link touched since the last call, at the lowest level where it may matter.
void OnlineMaxMin::weigh() {
  for (const std::uint32_t l : pending_) {
    Link& link = links_[l];
    link.pending = false;
    if (link.done) continue;
    const double level = level_of(link, l);
    const double key = link.opened ? level : std::min(level, link.level);
    if (key < link.key) {
      link.key = key;
      push(key, l);
    }
  }
  pending_.clear();
}

/// Lets the flow rise: its other links must determine where it stops. If the sweep has passed one of them, that one
/// stopped the flow at this very level (a tie), and there it stays.
void OnlineMaxMin::release(std::uint32_t f, std::uint32_t but) {
  Flow& flow = flows_[f];
  for (std::uint32_t c = flow.begin; c < flow.live; ++c) {
    const Link& link = links_[crossings_[c].link];
    if (link.stamp == sweep_ && link.done) return fix(f, link.level, crossings_[c].link);
  }
  flow.stamp = sweep_;
  flow.state = State::kOpen;
  flow.before = flow.rate;
  if (flow.cap < INFINITY) push(flow.cap, static_cast<std::uint32_t>(links_.size()) + f);
  for (std::uint32_t c = flow.begin; c < flow.live; ++c)
    if (crossings_[c].link != but) touch(crossings_[c].link);
}

void OnlineMaxMin::open_held(std::uint32_t l) {
  links_[l].opened = true;
  for (std::uint32_t c = links_[l].first; c != kNone32; c = crossings_[c].next) {
    const Flow& f = flows_[crossings_[c].flow];
    if (f.held_by == l && state(f) == State::kClean) release(crossings_[c].flow, l);
  }
}

/// Fixes the flow's rate. Its other links are told only if the rate is new to them.
void OnlineMaxMin::fix(std::uint32_t f, double rate, std::uint32_t by) {
  Flow& flow = flows_[f];
  const bool was_open = state(flow) == State::kOpen;
  if (!was_open) flow.before = flow.rate;
  flow.stamp = sweep_;
  flow.state = State::kFinal;
  flow.rate = rate;
  flow.held_by = by;
  if (same(rate, flow.before)) return;  // links that took it for open are in the sweep already
  changed_.push_back(f);
  for (std::uint32_t c = flow.begin; c < flow.live; ++c)
    if (crossings_[c].link != by && links_[crossings_[c].link].stamp != sweep_) touch(crossings_[c].link);
}

void OnlineMaxMin::finish(std::uint32_t l, double level) {
  Link& link = links_[l];
  link.done = true;
  link.level = level;
  for (std::uint32_t c = link.first; c != kNone32; c = crossings_[c].next) {
    const std::uint32_t f = crossings_[c].flow;
    const Flow& flow = flows_[f];
    const State s = state(flow);
    if (s == State::kFinal) continue;
    const bool held = s == State::kOpen || flow.held_by == l;
    if (held ? flow.cap > level : flow.rate > level && !same(level, flow.rate)) fix(f, level, l);
  }
}

void OnlineMaxMin::list(std::uint32_t c) {
  std::uint32_t& first = links_[crossings_[c].link].first;
  crossings_[c].next = first;
  crossings_[c].previous = kNone32;
  if (first != kNone32) crossings_[first].previous = c;
  first = c;
}

void OnlineMaxMin::open(std::uint32_t f) {
  if (heeded_ == Links::kNew) pass_over_idle_links();
  Flow& flow = flows_[f];
  flow.listed = true;
  for (std::uint32_t c = flow.begin; c < flow.live; ++c) list(c);
  fresh_.push_back(f);
}

void OnlineMaxMin::close(std::uint32_t f) {
  Flow& flow = flows_[f];
  for (std::uint32_t c = flow.begin; c < flow.live; ++c) {
    const Crossing& x = crossings_[c];
    if (x.previous == kNone32)
      links_[x.link].first = x.next;
    else
      crossings_[x.previous].next = x.next;
    if (x.next != kNone32) crossings_[x.next].previous = x.previous;
    if (links_[x.link].level < INFINITY) touch(x.link);
  }
  flow.listed = false;
  flow.rate = 0;
  flow.held_by = kNone32;
}

// HOT: bench ar-c-65536.
void OnlineMaxMin::settle() {
  changed_.clear();
  heap_.clear();
  for (const std::uint32_t f : fresh_) release(f, kNone32);
  fresh_.clear();
  const auto links = static_cast<std::uint32_t>(links_.size());
  for (weigh(); !heap_.empty(); weigh()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Entry e = heap_.back();
    heap_.pop_back();
    if (e.item >= links) {
      const Flow& flow = flows_[e.item - links];
      if (state(flow) == State::kOpen) fix(e.item - links, flow.cap, kNone32);
      continue;
    }
    Link& link = links_[e.item];
    if (link.done || e.key != link.key) continue;
    double level = level_of(link, e.item);
    if (level > e.key && !same(e.key, level)) {
      if (!link.opened && e.key >= link.level) {
        open_held(e.item);
        level = level_of(link, e.item);
      }
      link.key = link.opened ? level : std::min(level, link.level);
      if (link.key < INFINITY) push(link.key, e.item);
      continue;
    }
    finish(e.item, level);
  }
  for (const std::uint32_t l : touched_)
    if (!links_[l].done) links_[l].level = INFINITY;
  touched_.clear();
  ++sweep_;
}

}  // namespace busbar::solve
