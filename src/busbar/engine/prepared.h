// Calls lowered once and what is known of them before anything runs: the part that both fluid engines share.
#pragma once

#include <memory>
#include <vector>

#include "busbar/engine/engine.h"
#include "busbar/engine/likeness.h"
#include "busbar/engine/stage_solver.h"
#include "busbar/lowering/lowering.h"

namespace busbar::engine {

class PreparedCalls {
 public:
  PreparedCalls(const routing::Router& router, const routing::Placement& placement, const EngineOptions& options);

  /// Lowers the call, or moves one there that is alike (Shortcut::kCallImages).
  Result<program::CallId> prepare(const program::CollectiveCall& call);
  /// The earlier call that `call` was moved from; itself where it was lowered.
  program::CallId like(program::CallId call) const { return like_[index(call)]; }
  bool alike(const program::CollectiveCall& a, const program::CollectiveCall& b) {
    return images_ && likeness_.alike(a, b);
  }
  Duration least_time(const program::CollectiveCall& call) {
    return Duration::ps(static_cast<std::int64_t>(lowering_.least_ps(call)));
  }
  const lowering::LoweredCall& lowered(program::CallId call) const { return *calls_[index(call)]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(calls_.size()); }
  /// Each stage run to its end by fair sharing among the call's own fluids, in ps per stage.
  std::vector<double> flow_stage_ps(const lowering::LoweredCall& call);
  lowering::Bound bound_by(program::CallId call) const;
  /// Adds the bytes of `times` runs of `call` to `bytes` (per link).
  void add_link_bytes(program::CallId call, double times, std::vector<double>& bytes) const;

  const topology::Topology& topology() const { return topology_; }
  const lowering::Lowering& lowering() const { return lowering_; }
  lowering::Lowering& lowering() { return lowering_; }
  StageSolver& solver() { return solver_; }
  bool interrupted() const { return solver_.interrupted(); }
  const Shortcuts& shortcuts() const { return shortcuts_; }

 private:
  std::shared_ptr<const lowering::LoweredCall> known(const program::CollectiveCall& call) const;
  program::CallId add(std::shared_ptr<const lowering::LoweredCall> call, program::CallId like);
  bool add_image(const program::CollectiveCall& call);
  bool add_known_image(const program::CollectiveCall& call);
  std::shared_ptr<const lowering::LoweredCall> moved(const lowering::LoweredCall& from,
                                                     const program::CollectiveCall& call) const;
  const topology::Topology& topology_;
  lowering::Lowering lowering_;
  StageSolver solver_;
  CallLikeness likeness_;
  Shortcuts shortcuts_;
  bool images_;  ///< whether calls are moved
  std::shared_ptr<LoweredCalls> known_;
  std::vector<std::shared_ptr<const lowering::LoweredCall>> calls_;
  std::vector<program::CallId> like_;
};

}  // namespace busbar::engine
