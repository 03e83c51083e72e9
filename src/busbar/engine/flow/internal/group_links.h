// The links of a sharing group that can be full.
#pragma once

#include <unordered_map>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/engine/stage_solver.h"

namespace busbar {

/// Gives a solver the fluids of several stages, with all links that two of the stages cross. Of the links of one stage
/// it gives those that can be full while the stage is alone, sought once per stage: next to other stages they cover all
/// others of its own links, as they are at least as full.
class GroupLinks {
 public:
  struct Member {
    std::uint32_t stage_id;  ///< equal ids are equal stages
    const Stage* stage;
  };
  GroupLinks(StageSolver& solver, const CapacityTable& table);
  /// What can be full with all fluids of the group, added member by member. Valid until the solver's next begin().
  const MaxMinSolver& reduce(std::span<const Member> group);

  /// Numbers kept, and their end.
  std::size_t kept() const { return kept_; }
  void forget() { alone_.clear(), kept_ = 0; }

 private:
  struct Alone {
    Csr<CapacityId> on;  ///< per fluid
    std::vector<double> weight;
  };
  const Alone& alone(const Member& m);
  void mark_shared(std::span<const Member> group);
  void add(const Member& m, const Alone& alone);

  StageSolver& solver_;
  const CapacityTable& table_;
  std::unordered_map<std::uint32_t, Alone> alone_;  ///< by stage; looked up only
  std::size_t kept_ = 0;
  PerCapacity<std::uint32_t> crossed_by_;  ///< made when first needed; 1 + member, or kShared; 0 between calls
  std::vector<CapacityId> on_;
  std::vector<double> weight_;
};

}  // namespace busbar
