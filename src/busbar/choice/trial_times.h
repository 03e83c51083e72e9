// Times of candidates for the fastest algorithm. The next ones are timed on other threads meanwhile.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "busbar/choice/other_threads.h"
#include "busbar/engine/engine.h"

namespace busbar::choice {

/// An engine for candidates, and one that is cheaper to run and whose times are never above those of the first; or
/// null.
struct TrialMachine {
  engine::Engine* engine = nullptr;
  engine::Engine* lower_bound = nullptr;
};

/// Opens further machines: `open` gives the engines over a router.
struct TrialHelpers {
  struct Engines {
    std::unique_ptr<engine::Engine> engine, lower_bound;
  };
  OtherThreads threads{};
  std::function<Engines(const routing::Router&)> open{};
};

/// What one candidate takes.
struct TimedTrial {
  Status status;                     ///< why it cannot run
  std::optional<Duration> at_least;  ///< by the lower bound
  Duration time;                     ///< meaningless if at_least was above the best time when it was asked
  double links_ps = 0;               ///< link times of all stages; 0 if the engine does not give them
};

/// Candidates of one algorithm differ in the protocol and share routes, so one machine times them all.
class TrialTimes {
 public:
  struct Candidate {
    std::size_t algorithm = 0;
    const program::CollectiveCall* call = nullptr;
  };
  TrialTimes(TrialMachine own, const TrialHelpers* helpers, std::vector<Candidate> candidates);
  ~TrialTimes();

  /// The time of candidate `i`. `best`: no candidate above it is timed, if its lower bound says so; none before the
  /// first time. `wanted`(j): whether later candidates are worth their time today.
  const TimedTrial& of(std::size_t i, std::optional<Duration> best, const std::function<bool(std::size_t)>& wanted);

 private:
  struct Machine {
    std::unique_ptr<routing::Router> router;
    TrialHelpers::Engines engines;
    TrialMachine ask;
  };
  TimedTrial time(const TrialMachine& machine, const program::CollectiveCall& call, std::optional<Duration> best) const;
  std::uint32_t machine_of(std::size_t candidate) const;
  void look_ahead(std::size_t i, std::optional<Duration> best, const std::function<bool(std::size_t)>& wanted);

  const TrialHelpers* helpers_;
  std::vector<Candidate> candidates_;
  std::vector<std::optional<TimedTrial>> timed_;
  std::vector<Machine> machines_;                   ///< the first is the caller's
  std::map<std::size_t, std::uint32_t> algorithm_;  ///< the machine that times it
  bool long_ones_ = false;                          ///< some took long enough for threads to be worth it
};

}  // namespace busbar::choice
