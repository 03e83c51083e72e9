// A lower bound of a layout's memory, without its stages' tensors one by one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "busbar/plan/space.h"

namespace busbar::plan {

/// The first two stages' layers: parameters, gradients, states, and what the passes in flight keep. Never above
/// memory_use(): docs/models/plan.md.
class MemoryFloors {
 public:
  /// Both arguments must outlive this object.
  MemoryFloors(const PlanSpace& space, const workload::ModelSpec& model);
  /// Bytes, by degree of ZeRO. `chunks`: layers of each virtual stage.
  std::array<double, 4> of(const PlanPoint& point, const std::vector<std::uint32_t>& chunks);

 private:
  struct Layer {
    double dense = 0, experts = 0;  ///< bytes that a pass keeps
  };
  /// Layers of a stage, and those of its chunks that differ.
  struct Layers {
    double dense = 0, experts = 0;
    std::vector<std::pair<double, double>> chunks;
  };
  const std::array<Layers, 2>& layers_of(const PlanPoint& p, const std::vector<std::uint32_t>& chunks);
  const Layer& layer_of(const PlanPoint& p);
  void add_stage(const PlanPoint& p, const std::vector<std::uint32_t>& chunks, std::uint32_t s,
                 std::array<double, 4>& most);

  const PlanSpace& space_;
  const workload::ModelSpec& model_;
  std::vector<std::uint32_t> experts_before_;    ///< per layer: layers with experts before it
  double dense_ = 0, experts_ = 0, routed_ = 0;  ///< least parameters of a layer, without TP; all its routed experts
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, Layer> layers_;
  /// By PP, VPP and schedule: the first two stages.
  std::map<std::tuple<std::uint32_t, std::uint32_t, workload::PipelineSchedule>, std::array<Layers, 2>> stages_;
};

/// At least as many parameters of a layer are on each rank of TP, routed experts aside.
double least_layer_share(const workload::ModelSpec& model, std::uint32_t tp, bool experts);

}  // namespace busbar::plan
