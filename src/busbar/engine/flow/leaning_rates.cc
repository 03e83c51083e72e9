#include "busbar/engine/flow/leaning_rates.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "busbar/engine/adaptive.h"

namespace busbar {

LeaningRates::LeaningRates(const Router& router, WayOf way, std::function<double(LinkId)> rate, double cap,
                           std::uint32_t items)
    : router_(router),
      way_of_(std::move(way)),
      link_rate_(std::move(rate)),
      cap_(cap),
      contest_(router.topology(), router.topology().link_count(), link_rate_),
      items_(items),
      number_(router.topology().link_count(), 0),
      bytes_(router.topology().link_count(), 0.0),
      items_on_(bytes_.size(), 0) {}

LinkId LeaningRates::held_by(std::uint32_t item) const {
  const std::uint32_t l = solver_.held_by(items_[item].flow);
  return l == OnlineMaxMin::kNobody ? kNone<LinkId> : link_of_[l];
}

/// Adds what it has sent since it was last counted to the links it crosses.
void LeaningRates::count(Item& item, std::int64_t now_ps) {
  const double bytes = item.rate * static_cast<double>(now_ps - std::exchange(item.counted_ps, now_ps));
  for (std::size_t k = 0; k < item.way.link.size(); ++k) bytes_[index(item.way.link[k])] += item.way.weight[k] * bytes;
}

Stage LeaningRates::way(std::uint32_t item) {
  scratch_.clear();
  way_of_(item, scratch_);
  Stage out;
  for (const LinkShare& s : scratch_) {
    out.link.push_back(s.link);
    out.weight.push_back(s.share);
  }
  Fluid f;
  f.end = static_cast<std::uint32_t>(out.link.size());
  f.bytes = 1;
  f.alone_ps = 1 / cap_;
  out.fluids.push_back(f);
  return out;
}

bool LeaningRates::due() const {
  constexpr std::size_t kFew = 64, kPart = 8;
  return open_.size() <= kFew || changes_ * kPart >= open_.size();
}

/// Finds the split that serves all that is under way best, and gives them its ways.
void LeaningRates::split() {
  changes_ = 0;
  if (open_.empty()) return forget_solver();
  SplitSearch search(std::exchange(lean_, {}));
  std::vector<Stage> best;
  std::vector<Competitor> all(open_.size());
  for (bool first = true; !search.over(); first = false) {
    router_.set_lean(search.lean());
    std::vector<Stage> ways;
    for (const std::uint32_t item : open_) ways.push_back(way(item));
    for (std::size_t i = 0; i < ways.size(); ++i) all[i].stage = &ways[i];
    if (first) contest_.ask(all);
    const ContestOutcome found = contest_.outcome(all);
    search.learn(router_.topology(), found.cost, found.load);
    if (search.improved()) best = std::move(ways);
  }
  lean_ = search.best();
  router_.set_lean(lean_);
  forget_solver();
  for (std::size_t i = 0; i < open_.size(); ++i) {
    items_[open_[i]].way = std::move(best[i]);
    add_to_solver(open_[i]);
  }
}

void LeaningRates::forget_solver() {
  for (const LinkId l : link_of_) number_[index(l)] = 0;
  link_of_.clear();
  item_of_flow_.clear();
  solver_ = OnlineMaxMin({});
}

void LeaningRates::add_to_solver(std::uint32_t id) {
  Item& item = items_[id];
  numbers_.clear();
  for (const LinkId l : item.way.link) {
    std::uint32_t& n = number_[index(l)];
    if (n == 0) {
      n = solver_.add_link(link_rate_(l)) + 1;
      link_of_.push_back(l);
    }
    numbers_.push_back(n - 1);
  }
  item.flow = solver_.add_flow(numbers_, item.way.weight, cap_);
  item_of_flow_.push_back(id);
  solver_.open(item.flow);
}

void LeaningRates::settle(std::int64_t now_ps) {
  changed_.clear();
  if (opened_.empty() && closed_.empty()) return;
  changes_ += opened_.size() + closed_.size();
  for (const std::uint32_t id : closed_) {
    Item& item = items_[id];
    count(item, now_ps);
    item.rate = 0;
    item.way = {};
  }
  if (!closed_.empty()) std::erase_if(open_, [&](std::uint32_t id) { return items_[id].way.link.empty(); });
  const std::size_t before = open_.size();
  open_.insert(open_.end(), opened_.begin(), opened_.end());
  for (const std::uint32_t id : opened_) {
    items_[id].counted_ps = now_ps;
    items_[id].way = way(id);
    for (const LinkId l : items_[id].way.link) ++items_on_[index(l)];
  }
  if (due()) {
    for (std::size_t i = 0; i < before; ++i) count(items_[open_[i]], now_ps);
    split();
  } else {
    for (const std::uint32_t id : closed_) solver_.close(items_[id].flow);
    for (const std::uint32_t id : opened_) add_to_solver(id);
  }
  opened_.clear();
  closed_.clear();
  solver_.settle();
  constexpr double kSame = 1e-12;
  for (const std::uint32_t flow : solver_.changed()) {
    const std::uint32_t id = item_of_flow_[flow];
    Item& item = items_[id];
    const double rate = solver_.rate(flow);
    if (rate == 0 || std::abs(rate - item.rate) <= kSame * item.rate) continue;  // closed, or as it was
    count(item, now_ps);
    item.rate = rate;
    changed_.push_back(id);
  }
}

}  // namespace busbar
