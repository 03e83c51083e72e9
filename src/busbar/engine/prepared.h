// Calls lowered once and what is known of them before anything runs: the part that both fluid engines share.
#pragma once

#include <memory>
#include <vector>

#include "busbar/engine/engine.h"
#include "busbar/engine/likeness.h"
#include "busbar/engine/stage_solver.h"
#include "busbar/lowering/lowering.h"

namespace busbar {

class PreparedCalls {
 public:
  PreparedCalls(const Router& router, const Placement& placement, const EngineOptions& options);

  /// Lowers the call, or moves one there that is alike (Shortcut::kCallImages).
  Result<CallId> prepare(const CollectiveCall& call);
  /// The earlier call that `call` was moved from; itself where it was lowered.
  CallId like(CallId call) const { return like_[index(call)]; }
  bool alike(const CollectiveCall& a, const CollectiveCall& b) { return images_ && likeness_.alike(a, b); }
  Duration least_time(const CollectiveCall& call) {
    return Duration::ps(static_cast<std::int64_t>(lowering_.least_ps(call)));
  }
  const LoweredCall& lowered(CallId call) const { return *calls_[index(call)]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(calls_.size()); }
  /// Each stage run to its end by fair sharing among the call's own fluids, in ps per stage.
  std::vector<double> flow_stage_ps(const LoweredCall& call);
  Bound bound_by(CallId call) const;
  /// Adds the bytes of `times` runs of `call` to `bytes` (per link).
  void add_link_bytes(CallId call, double times, std::vector<double>& bytes) const;

  const Topology& topology() const { return topology_; }
  const Lowering& lowering() const { return lowering_; }
  Lowering& lowering() { return lowering_; }
  StageSolver& solver() { return solver_; }
  bool interrupted() const { return solver_.interrupted(); }
  const Shortcuts& shortcuts() const { return shortcuts_; }

 private:
  std::shared_ptr<const LoweredCall> known(const CollectiveCall& call) const;
  CallId add(std::shared_ptr<const LoweredCall> call, CallId like);
  bool add_image(const CollectiveCall& call);
  bool add_known_image(const CollectiveCall& call);
  std::shared_ptr<const LoweredCall> moved(const LoweredCall& from, const CollectiveCall& call) const;
  const Topology& topology_;
  Lowering lowering_;
  StageSolver solver_;
  CallLikeness likeness_;
  Shortcuts shortcuts_;
  bool images_;  ///< whether calls are moved
  std::shared_ptr<LoweredCalls> known_;
  std::vector<std::shared_ptr<const LoweredCall>> calls_;
  std::vector<CallId> like_;
};

}  // namespace busbar
