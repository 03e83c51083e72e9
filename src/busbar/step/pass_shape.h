// A pass by itself: which of its operations wait for which, and when each runs while the pass meets nobody.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/engine/engine.h"
#include "busbar/program/program.h"
#include "busbar/workload/kernels.h"

namespace busbar {

struct OpRun {
  SimTime start, end;
};

struct PassShape {
  std::vector<std::uint16_t> streams;      ///< of its role, ascending
  Csr<std::uint32_t> stream_ops;           ///< per entry of `streams`: its operations in order
  std::vector<std::uint32_t> waits;        ///< per operation: dependencies inside the pass
  Csr<std::uint32_t> successors;           ///< per operation: those inside that wait for it
  Csr<std::uint32_t> after_outside;        ///< per outside dependency: operations that wait for it
  std::vector<std::uint32_t> collectives;  ///< operations
  std::vector<CallId> calls;               ///< of the engine, each once
  /// Whether the pass may run as one event: no two of its calls on different streams meet, and the engine's times hold.
  bool whole = false;
  std::vector<OpRun> ops;  ///< where whole: times since the pass began
  Duration length;
};

/// Everything but the times. `calls`: per call of the program, the engine's.
PassShape shape_of(const Pass& pass, std::uint32_t outside, const std::vector<CallId>& calls, Engine& engine);

/// The pass as a program of its own, without what it waits for outside.
Program alone(const Pass& pass, const Role& role);

/// Calls that meet nobody: each takes the time that another engine gives it alone.
class LonelyCalls final : public Engine {
 public:
  explicit LonelyCalls(const Engine& engine) : engine_(engine) {}
  Result<CallId> prepare(const CollectiveCall&) override {
    return invalid("calls that meet nobody are prepared elsewhere");
  }
  Duration time_alone(CallId call) const override { return engine_.time_alone(call); }
  Bound bound_by(CallId call) const override { return engine_.bound_by(call); }
  void start(CallId call, std::uint64_t tag, SimTime at) override { pending_.push_back({tag, at + time_alone(call)}); }
  std::optional<Finished> advance(SimTime limit) override;
  std::vector<double> link_bytes() const override { return {}; }

 private:
  const Engine& engine_;
  std::vector<Finished> pending_;  ///< in the order of their start; a handful
};

}  // namespace busbar
