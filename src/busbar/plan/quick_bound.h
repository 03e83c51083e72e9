// A lower bound of a step's time in microseconds of work, without its program.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "busbar/plan/call_floors.h"
#include "busbar/plan/space.h"
#include "busbar/workload/layer_times.h"

namespace busbar {

/// The slowest stage's computation and exposed TP of all micro-batches, and what comes before its first and after its
/// last pass. Never above step_bound(): docs/models/plan.md. Keeps what points have in common.
class QuickBounds {
 public:
  /// All arguments must outlive this object.
  QuickBounds(const PlanSpace& space, const ModelSpec& model, const KernelTable& kernels, const CallFloors& floors)
      : space_(space), model_(model), kernels_(kernels), floors_(floors) {}
  /// 0 for points that resolve_layout() refuses.
  Duration of(const PlanPoint& point);

 private:
  /// Picoseconds of one pass.
  struct Passes {
    double forward = 0, backward = 0;
  };
  struct Times {
    Passes dense, experts;  ///< a layer
    Passes first, last;     ///< embedding; head, loss and multi-token prediction
  };
  using Chunks = std::vector<std::uint32_t>;  ///< layers of each virtual stage; empty: refused
  const Times& times_of(const PlanPoint& p);
  const Chunks& chunks_of(const PlanPoint& p);
  Times measure(const LayoutSpec& layout) const;
  Passes chunk(const Times& t, const Chunks& chunks, std::uint32_t place, std::uint32_t first_layer) const;

  const PlanSpace& space_;
  const ModelSpec& model_;
  const KernelTable& kernels_;
  const CallFloors& floors_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, Recompute>, Times> times_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Chunks> chunks_;
};

}  // namespace busbar
