// For tests: an engine whose collectives take fixed times and never share links.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "busbar/engine/engine.h"

namespace busbar::step {

class FakeEngine : public engine::Engine {
 public:
  using Time = std::function<Duration(const program::CollectiveCall&)>;
  explicit FakeEngine(Time time) : time_(std::move(time)) {}

  Result<program::CallId> prepare(const program::CollectiveCall& call) override {
    times_.push_back(time_(call));
    return static_cast<program::CallId>(times_.size() - 1);
  }
  Duration time_alone(program::CallId call) const override { return times_[static_cast<std::size_t>(call)]; }
  lowering::Bound bound_by(program::CallId) const override { return {}; }
  void start(program::CallId call, std::uint64_t tag, SimTime at) override {
    ends_.emplace(std::make_pair(at + time_alone(call), sequence_++), tag);
  }
  std::optional<engine::Finished> advance(SimTime limit) override {
    if (ends_.empty() || ends_.begin()->first.first > limit) return std::nullopt;
    const engine::Finished f{ends_.begin()->second, ends_.begin()->first.first};
    ends_.erase(ends_.begin());
    return f;
  }
  std::vector<double> link_bytes() const override { return {}; }

 private:
  Time time_;
  std::vector<Duration> times_;
  std::map<std::pair<SimTime, std::uint64_t>, std::uint64_t> ends_;
  std::uint64_t sequence_ = 0;
};

}  // namespace busbar::step
