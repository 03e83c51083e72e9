// The load of links over the time of a step.
#pragma once

#include <vector>

#include "busbar/engine/engine.h"
#include "busbar/step/run_program.h"
#include "busbar/topology/topology.h"
#include "busbar/trace/timeline.h"

namespace busbar::step {

class LinkCourses {
 public:
  static constexpr std::size_t kParts = 1024;   ///< of a step: about 10 ms each
  static constexpr std::size_t kEachClass = 4;  ///< number of links per class that are followed: the busiest

  /// `call` of the program ran, starting at `start`.
  void add(program::CallId call, SimTime start, Duration duration) { runs_.push_back({call, start, duration}); }
  /// Fills LinkLoad::course of the busiest links of each class and returns these links. The bytes of a call are spread
  /// evenly over its run, and the mean of each course is the link's utilisation.
  /// Pre: timeline.links and timeline.length are set.
  std::vector<trace::LinkLoad*> follow(const topology::Topology& topology, const engine::Engine& engine,
                                       const ProgramRun& run, trace::Timeline& timeline) const;

 private:
  struct CallRun {
    program::CallId call;
    SimTime start;
    Duration duration;
  };
  std::vector<CallRun> runs_;
};

}  // namespace busbar::step
