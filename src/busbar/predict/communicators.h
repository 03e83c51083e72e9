// What NCCL or RCCL makes of the groups of calls.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "busbar/choice/nccl_schedules.h"
#include "busbar/nccl/tuning.h"
#include "busbar/routing/placement.h"

namespace busbar {

/// One communicator with its schedules.
struct Communicator {
  NcclSchedules schedules;
  NcclTuning tuning;
};

/// The communicators of a family's groups.
struct FamilyCommunicators {
  std::vector<Communicator*> classes;   ///< in the order of their first groups
  std::vector<std::uint32_t> class_of;  ///< per group
  Communicator& first() const { return *classes.front(); }
  Communicator& of(std::uint32_t group) const { return *classes[class_of[group]]; }
};

/// Communicators of groups of ranks, each made when it is first asked for. Groups whose members stand on the same GPUs
/// of servers that are wired alike share one: rank i of the communicator is member i of every such group.
/// Cost: a search per kind of server and set of GPUs in it, else linear in the ranks of the groups.
class Communicators {
 public:
  /// Topology and placement outlive this.
  Communicators(const Topology& topology, const Placement& placement, const NcclSettings& settings)
      : topology_(topology), placement_(placement), settings_(settings) {}

  /// `channels`: as many as are to be used, as NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS say; 0: as many as the library
  /// finds good. The result lives as long as this. Errors: kUnsupported for accelerators that neither NCCL nor RCCL
  /// drives, kInvalid for a rank without a GPU.
  Result<const FamilyCommunicators*> of(const GroupFamily& family, std::uint32_t channels = 0);

 private:
  /// The channels asked for, and per member: its server, counted from the first of the group, the kind of that server,
  /// and the GPU in it.
  using Shape = std::vector<std::uint32_t>;
  struct Known {
    GroupFamily family;
    std::uint32_t channels;
    FamilyCommunicators communicators;
  };
  Result<Shape> shape_of(const GroupFamily& family, std::uint32_t group);
  std::uint32_t kind_of(BlockId block);
  Result<std::unique_ptr<Communicator>> make(const GroupFamily& family, std::uint32_t group,
                                             std::uint32_t channels) const;

  const Topology& topology_;
  const Placement& placement_;
  NcclSettings settings_;
  std::map<Shape, std::unique_ptr<Communicator>> made_;
  std::deque<Known> families_;  ///< entries stay where they are
  std::vector<std::uint32_t> kind_of_block_;  ///< 1 + kind; 0: not asked yet
  std::map<std::vector<std::uint64_t>, std::uint32_t> kinds_;
  std::vector<std::uint32_t> place_of_block_;  ///< work space: 1 + place in the group; zero between groups
};

}  // namespace busbar
