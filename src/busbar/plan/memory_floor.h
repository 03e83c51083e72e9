// A lower bound of a layout's memory, without its stages' tensors one by one.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "busbar/plan/space.h"

namespace busbar {

/// The first two stages' layers: parameters, gradients, states, and what the passes in flight keep. Never above
/// memory_use(): docs/models/plan.md.
class MemoryFloors {
 public:
  /// Both arguments must outlive this object.
  MemoryFloors(const PlanSpace& space, const ModelSpec& model) : space_(space), model_(model) {}
  /// Bytes. `chunks`: layers of each virtual stage.
  double of(const PlanPoint& point, std::uint32_t zero, const std::vector<std::uint32_t>& chunks);

 private:
  struct Layer {
    double dense = 0, experts = 0;  ///< bytes that a pass keeps
  };
  struct Share {
    double dense = 0, experts = 0, routed = 0;  ///< parameters of a layer on one rank
  };
  const Layer& layer_of(const PlanPoint& p);
  Share share_of(const PlanPoint& p) const;
  double stage(const PlanPoint& p, std::uint32_t zero, const std::vector<std::uint32_t>& chunks, std::uint32_t s);

  const PlanSpace& space_;
  const ModelSpec& model_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, Recompute>, Layer> layers_;
};

/// At least as many parameters of a layer are on each rank of TP, routed experts aside.
double least_layer_share(const ModelSpec& model, std::uint32_t tp, bool experts);

}  // namespace busbar
