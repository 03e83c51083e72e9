// A collective call laid onto links: the fluids that the analytic and the flow engine share (DESIGN 4.3).
//
// A stage is what may run at one time: with one chunk, the s-th phase run of every channel and group; with k chunks,
// the whole schedule as one pipeline. A fluid is one (phase run, group, channel) of one call group: all its connections
// move together, at a rate given for its busiest connection.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "busbar/base/id.h"
#include "busbar/base/result.h"
#include "busbar/base/shortcuts.h"
#include "busbar/base/stop_flag.h"
#include "busbar/collectives/execution_plan.h"
#include "busbar/lowering/bound.h"
#include "busbar/lowering/capacity_table.h"
#include "busbar/lowering/chain_part.h"
#include "busbar/lowering/simplification.h"
#include "busbar/lowering/what_if.h"
#include "busbar/program/measured_calls.h"
#include "busbar/program/program.h"
#include "busbar/routing/capacity.h"
#include "busbar/routing/placement.h"

namespace busbar::lowering {

struct Fluid {
  std::uint32_t begin = 0, end = 0;  ///< its run in Stage::on and Stage::weight
  double bytes = 0;                  ///< what its busiest connection carries
  /// Its time while only the fluids of its step of the call are under way, with latencies and send overheads.
  double alone_ps = 0;
  double cap() const { return bytes / alone_ps; }  ///< bytes per ps: a latency-bound fluid does not fill its links
};

/// Fluids of a stage that share links with one another and with no other fluid of the stage.
struct Component {
  std::uint32_t begin = 0, end = 0;  ///< its run in Stage::members
  std::uint32_t like = 0;            ///< the first component that is equal but for the links (itself if first)
};

struct Stage {
  std::string phase;       ///< "ring reduce-scatter + all-gather"
  std::uint32_t step = 0;  ///< which phase run of the schedule, counted per channel
  std::vector<Fluid> fluids;
  std::vector<routing::CapacityId> on;  ///< per incidence: what is crossed
  std::vector<double> weight;           ///< bytes there per byte of the busiest connection
  std::vector<std::uint32_t> members;   ///< fluids, component by component
  std::vector<Component> components;
  std::uint32_t kinds = 0;  ///< components that are like no earlier one
  double load_ps = 0;       ///< largest load / rate over the links: no engine goes below
  topology::LinkId busiest =
      kNone<topology::LinkId>;  ///< the link of load_ps; of a limit of a device, a link of that device
  double slowest_alone_ps = 0;  ///< largest Fluid::alone_ps
  double latency_ps = 0;        ///< paid before the bytes, in no fluid's alone_ps but in LoweredCall::launch_ps
  Simplifications simplified{};
};

struct LoweredCall {
  program::CollectiveCall call;
  std::uint32_t channels = 1;
  std::uint32_t chunks = 1;
  std::vector<Stage> stages;
  double launch_ps = 0;
  double algorithm_floor_ps = 0;  ///< largest load / wire rate of the whole schedule (DESIGN 4.6)
  /// All times and bytes above, of those that the model gives for the call alone: by measured calls
  /// (ProtocolModel::measured) and CollectiveCall::slowdown. Otherwise 1.
  double time_factor = 1;
  /// Per stage, the chain of the fluid that seemed slowest while it was lowered; empty unless chains are kept
  /// (Lowering::keep_chains). Times are those without time_factor.
  std::vector<StageChain> chains{};
};

/// What measured calls know a call by.
program::CallTraits call_traits(const LoweredCall& call, const topology::Topology& topology,
                                const routing::Placement& placement);

/// Closed-form time of the call alone: per stage the longer of its latency chains and its link loads, one after the
/// other.
double closed_form_ps(const LoweredCall& call);

/// The slowest stage's busiest link.
Bound bound_of(const LoweredCall& call);

class Lowering {
 public:
  /// `stop`: lower() returns interrupted() once it is set.
  Lowering(const routing::Router& router, const routing::Placement& placement, const program::ProtocolModel& protocol,
           Shortcuts shortcuts = {}, StopFlag stop = nullptr);
  ~Lowering();
  void set_what_if(const WhatIf& what_if);
  void set_delays(std::span<const LinkDelay> delays);
  /// Whether the pieces of rings that share links are followed one by one (the default), or counted by a law that costs
  /// less: docs/models/flow.md, "Rings of several channels".
  void follow_rings(bool on);
  /// Whether lower() keeps chains for explain(). Off at first.
  void keep_chains(bool on);
  /// Errors: kUnsupported (algorithm and collective do not go together), kUnreachable, kInvalid (ranks not placed).
  /// Where splits() holds, each stage is split as evens its own loads best. Cost of that: some 5 to 25 lowerings.
  Result<LoweredCall> lower(const program::CollectiveCall& call);
  /// Whether routing is adaptive and no split is the best whatever the traffic.
  bool splits() const;
  /// The stage of Stage::step `step`, split by `bias`; its fluids come in the order of lower().
  Result<Stage> lower_step(const program::CollectiveCall& call, std::uint32_t step, const routing::SplitBias& bias);
  /// Over how many channels lower() lays each channel of a schedule of the call.
  collectives::PlanLanes lanes(const program::CollectiveCall& call, const collectives::Schedule& schedule);
  /// The chain behind closed_form_ps(lower(call)): parts that follow each other and sum to it. Cost: one lowering, two
  /// where the fluid that seemed slowest in a stage is not.
  Result<std::vector<ChainPart>> explain(const program::CollectiveCall& call);
  /// The same for a call that lower() returned, from the chains that it kept; nothing where they do not suffice.
  std::optional<std::vector<ChainPart>> explain(const LoweredCall& call) const;
  /// What closed_form_ps(lower(call)) cannot go below, without routing anything: the longest chain of sends, each at
  /// the least overhead of the protocol. 0 where the phases overlap, and for what cannot be lowered.
  double least_ps(const program::CollectiveCall& call);
  const routing::Router& router() const;
  const program::ProtocolModel& protocol() const;
  /// The rates and latencies of all that stages may cross.
  const CapacityTable& capacities() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace busbar::lowering
