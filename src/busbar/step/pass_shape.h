// A pass by itself: the dependencies of its operations, and when each runs if no other work disturbs the pass.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/engine/engine.h"
#include "busbar/program/program.h"
#include "busbar/workload/kernels.h"

namespace busbar::step {

struct OpRun {
  SimTime start, end;
};

struct PassShape {
  std::vector<std::uint16_t> streams;      ///< of its role, ascending
  Csr<std::uint32_t> stream_ops;           ///< per entry of `streams`: its operations in order
  std::vector<std::uint32_t> waits;        ///< per operation: number of dependencies inside the pass
  Csr<std::uint32_t> successors;           ///< per operation: the operations inside that wait for it
  Csr<std::uint32_t> after_outside;        ///< per outside dependency: the operations that wait for it
  std::vector<std::uint32_t> collectives;  ///< operations
  std::vector<program::CallId> calls;      ///< of the engine, each call once
  /// Whether the pass may run as one event: its calls on different streams share no link, and the engine's times hold.
  bool whole = false;
  // If `whole`:
  std::vector<OpRun> ops;           ///< times since the pass began
  std::vector<std::uint32_t> rest;  ///< per operation: how many start with it or later; 0: one spans its start
  Duration length;
};

/// Everything except the times. `calls`: per call of the program, the engine's call.
PassShape shape_of(const program::Pass& pass, std::uint32_t outside, const std::vector<program::CallId>& calls,
                   engine::Engine& engine);

/// PassShape::rest of operations that run so.
std::vector<std::uint32_t> rest_of(const std::vector<OpRun>& ops);

/// The pass as its own program, without outside dependencies.
program::Program alone(const program::Pass& pass, const program::Role& role);

/// Calls without other traffic: each takes the time that another engine gives for it alone.
class SeparateCalls final : public engine::Engine {
 public:
  explicit SeparateCalls(const engine::Engine& engine) : engine_(engine) {}
  Result<program::CallId> prepare(const program::CollectiveCall&) override {
    return invalid("calls without other traffic are prepared elsewhere");
  }
  Duration time_alone(program::CallId call) const override { return engine_.time_alone(call); }
  lowering::Bound bound_by(program::CallId call) const override { return engine_.bound_by(call); }
  void start(program::CallId call, std::uint64_t tag, SimTime at) override {
    pending_.push_back({tag, at + time_alone(call)});
  }
  std::optional<engine::Finished> advance(SimTime limit) override;
  std::vector<double> link_bytes() const override { return {}; }

 private:
  const engine::Engine& engine_;
  std::vector<engine::Finished> pending_;  ///< in order of their start; only a few
};

}  // namespace busbar::step
