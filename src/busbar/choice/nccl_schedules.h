// NCCL's own rings and trees as schedules, and the NICs of its channels.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "busbar/engine/engine.h"
#include "busbar/nccl/comm.h"

namespace busbar::choice {

/// Schedules of one communicator. Each is built on first use and shared by the calls of all sizes.
class NcclSchedules {
 public:
  explicit NcclSchedules(nccl::NcclComm comm) : comm_(std::move(comm)) {}
  const nccl::NcclComm& comm() const { return comm_; }

  /// Returns `call`, which names an algorithm, as NCCL runs it: a ring algorithm over NCCL's rings, a tree algorithm
  /// (for all-reduce only) over its trees, other algorithms unchanged, each with the NICs of its channels. Unchanged
  /// are grouped sends and receives, whose NICs depend on the receiver, and calls of several groups or over ranks
  /// outside the communicator. Channels with equal order and equal NICs become one, with the sum of their shares of the
  /// bytes. `channels`: use only the first `channels`; 0: all.
  Result<program::CollectiveCall> over_channels(program::CollectiveCall call, std::uint32_t channels = 0);
  /// Whether a group with the other communicator runs `call` by the same schedule.
  bool same_channels(NcclSchedules& other, const program::CollectiveCall& call, std::uint32_t channels = 0);

 private:
  friend class NcclGroups;
  /// What channels send, and their ports per channel and node; no ports if there is one node.
  struct Laid {
    std::shared_ptr<const collectives::Schedule> schedule;  ///< null: as the algorithm builds it
    std::vector<std::vector<std::uint32_t>> shapes;
    std::vector<std::vector<nccl::NcclPorts>> ports;
  };
  bool fits(const program::CollectiveCall& call) const;
  Result<const Laid*> lay(const program::CollectiveCall& call, std::uint32_t channels);
  Result<Laid> rings(const program::CollectiveCall& call, std::uint32_t channels) const;
  Result<Laid> trees(const program::CollectiveCall& call, std::uint32_t channels) const;
  Laid local() const;

  nccl::NcclComm comm_;
  std::map<std::tuple<std::string, collectives::Collective, std::uint32_t>, Laid> laid_;  ///< by algorithm and channels
  /// Tables of NICs, by the inputs they were built from.
  std::vector<std::pair<std::pair<const Laid*, collectives::GroupFamily>, std::shared_ptr<const program::ChannelNics>>>
      nics_;
};

/// The same for calls of several groups at once; each group has its own communicator.
class NcclGroups {
 public:
  /// `of`: the schedules of a group's communicator. Groups on the same GPUs of their servers may share one.
  /// `first_device`: the first device of the block with a group member's GPU.
  NcclGroups(std::function<NcclSchedules&(std::uint32_t group)> of,
             std::function<std::uint32_t(std::uint32_t group, std::uint32_t member)> first_device)
      : of_(std::move(of)), first_device_(std::move(first_device)) {}

  /// As NcclSchedules::over_channels. Error kUnsupported if the groups' rings or trees differ.
  Result<program::CollectiveCall> over_channels(program::CollectiveCall call, std::uint32_t channels = 0) const;

 private:
  void add(const nccl::NcclComm& comm, const NcclSchedules::Laid& laid, const collectives::GroupFamily& groups,
           std::uint32_t group, std::map<std::uint32_t, std::uint32_t>& row_of, program::ChannelNics& nics) const;
  std::function<NcclSchedules&(std::uint32_t)> of_;
  std::function<std::uint32_t(std::uint32_t, std::uint32_t)> first_device_;
};

}  // namespace busbar::choice
