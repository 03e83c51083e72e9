// NCCL's or RCCL's communicators for the groups of calls.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "busbar/choice/nccl_schedules.h"
#include "busbar/nccl/kept_graphs.h"
#include "busbar/nccl/tuning.h"
#include "busbar/routing/placement.h"

namespace busbar::predict {

/// One communicator with its schedules.
struct Communicator {
  choice::NcclSchedules schedules;
  nccl::NcclTuning tuning;
};

/// The communicators of a family's groups.
struct FamilyCommunicators {
  std::vector<Communicator*> classes;   ///< in order of their first groups
  std::vector<std::uint32_t> class_of;  ///< per group
  Communicator& first() const { return *classes.front(); }
  Communicator& of(std::uint32_t group) const { return *classes[class_of[group]]; }
};

/// Communicators of groups of ranks, each built on first use. Groups share one if their members are on the same GPUs of
/// servers with equal wiring: rank i of the communicator is member i of every such group.
/// Cost: a search per kind of server and set of GPUs in it; otherwise linear in the ranks of the groups.
class Communicators {
 public:
  /// Topology, placement and `kept` must outlive this object.
  Communicators(const topology::Topology& topology, const routing::Placement& placement,
                const nccl::NcclSettings& settings, nccl::KeptGraphs* kept = nullptr)
      : topology_(topology), placement_(placement), settings_(settings), kept_(kept) {}

  /// `channels`: the number to use, as set by NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS; 0: the library's choice. The
  /// result lives as long as this object.
  /// Errors: kUnsupported for accelerators that neither NCCL nor RCCL supports, kInvalid for a rank without a GPU.
  Result<const FamilyCommunicators*> of(const collectives::GroupFamily& family, std::uint32_t channels = 0);

 private:
  /// The requested channels, and per member: its server, counted from the first of the group, the kind of this server,
  /// and the GPU in it.
  using Shape = std::vector<std::uint32_t>;
  struct Known {
    collectives::GroupFamily family;
    std::uint32_t channels;
    FamilyCommunicators communicators;
  };
  Result<Shape> shape_of(const collectives::GroupFamily& family, std::uint32_t group);
  std::uint32_t kind_of(topology::BlockId block);
  Result<std::unique_ptr<Communicator>> make(const collectives::GroupFamily& family, std::uint32_t group,
                                             std::uint32_t channels) const;

  const topology::Topology& topology_;
  const routing::Placement& placement_;
  nccl::NcclSettings settings_;
  nccl::KeptGraphs* kept_;
  std::map<Shape, std::unique_ptr<Communicator>> made_;
  std::deque<Known> families_;                ///< entries never move
  std::vector<std::uint32_t> kind_of_block_;  ///< 1 + kind; 0: not computed yet
  std::map<std::vector<std::uint64_t>, std::uint32_t> kinds_;
  std::vector<std::uint32_t> place_of_block_;  ///< work space: 1 + index in the group; zero between groups
};

}  // namespace busbar::predict
