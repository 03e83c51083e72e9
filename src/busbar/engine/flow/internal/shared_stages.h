// Stages as they share links with other calls: few fluids, few links.
//
// Invariants:
//  1. The links of a class have one rate, and the same fluids of the same stages cross them with the same weights. That
//     holds for the stages taken in so far; a new one may split classes.
//  2. A folded stage crosses one link of each class instead of all. All stages folded at one version of the classes use
//     the same link of a class, so stages share a link if they did so before.
#pragma once

#include <deque>

#include "busbar/engine/flow/internal/merged_stage.h"

namespace busbar::engine {

class SharedStages {
 public:
  /// `merges`: whether fluids of equal rate are merged.
  SharedStages(StageSolver& solver, const lowering::CapacityTable& table, bool merges);
  /// Takes in a stage. `id`: equal ids are equal stages. `own` outlives this object.
  void add(std::uint32_t id, const lowering::Stage& own);
  /// The stage folded by all stages taken in so far. Pre: add(id). Valid until of(id) after another add().
  const lowering::Stage& of(std::uint32_t id);
  /// Stages folded at one version stay as they are.
  std::uint32_t version() const { return version_; }

 private:
  struct Entry {
    const lowering::Stage* own = nullptr;  ///< null: not taken in
    std::optional<lowering::Stage> merged;
    lowering::Stage folded;
    std::uint32_t version = 0;  ///< of the classes by which it is folded
  };
  struct Crossed {
    routing::CapacityId on;
    std::uint32_t piece;
  };
  void refine(const lowering::Stage& stage);
  lowering::Stage fold(const lowering::Stage& from);

  StageSolver& solver_;
  const lowering::CapacityTable& table_;
  StageMerger merger_;
  lowering::ComponentSplitter splitter_;
  bool merges_;
  std::deque<Entry> entries_;  ///< per stage id
  routing::PerCapacity<std::uint32_t> class_;
  std::vector<std::uint32_t> size_{0};      ///< per class; 0 is the class of what no stage crosses
  std::uint32_t version_ = 1;               ///< changes when a class is split
  std::vector<routing::CapacityId> first_;  ///< per class: the link that stands for it, unless it has left the class
  // Work space:
  routing::PerCapacity<std::uint64_t> row_;  ///< hash of the fluids that cross it; 0 between calls
  std::vector<Crossed> crossed_;
  std::vector<std::uint32_t> taken_by_;  ///< per class: the last fluid that took it
  std::uint32_t folds_ = 0;
};

}  // namespace busbar::engine
