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

namespace busbar {

/// Schedules of one communicator, each made when it is first asked for and shared by the calls of all sizes.
class NcclSchedules {
 public:
  explicit NcclSchedules(NcclComm comm) : comm_(std::move(comm)) {}
  const NcclComm& comm() const { return comm_; }

  /// `call`, which names an algorithm, as NCCL lays it: one that takes orders of ranks over NCCL's rings or trees (these
  /// for all-reduce only), any other as it is, and each with the NICs of its channels. Grouped sends and receives, whose NICs depend on
  /// the receiver, and calls of several groups or over other ranks than the communicator's come back as they are.
  /// Channels with the same order and the same NICs become one with their share of the bytes. `channels`: the first so
  /// many are used; 0: all.
  Result<CollectiveCall> over_channels(CollectiveCall call, std::uint32_t channels = 0);

 private:
  friend class NcclGroups;
  /// What channels do, and per channel and node by which ports; no ports inside one node.
  struct Laid {
    std::shared_ptr<const Schedule> schedule;  ///< null: as the algorithm builds it
    std::vector<std::vector<std::uint32_t>> shapes;
    std::vector<std::vector<NcclPorts>> ports;
  };
  bool fits(const CollectiveCall& call) const;
  Result<const Laid*> lay(const CollectiveCall& call, std::uint32_t channels);
  Result<Laid> rings(const CollectiveCall& call, std::uint32_t channels) const;
  Result<Laid> trees(const CollectiveCall& call, std::uint32_t channels) const;
  Laid local() const;

  NcclComm comm_;
  std::map<std::tuple<std::string, Collective, std::uint32_t>, Laid> laid_;  ///< by algorithm and channels
  /// Tables of NICs by what they were made from.
  std::vector<std::pair<std::pair<const Laid*, GroupFamily>, std::shared_ptr<const ChannelNics>>> nics_;
};

/// The same for calls of several groups at once, each of which has a communicator of its own.
class NcclGroups {
 public:
  /// `of`: the schedules of the communicator of a group, which groups on the same GPUs of their servers may share.
  /// `first_device`: that of the block in which a member of a group has its GPU.
  NcclGroups(std::function<NcclSchedules&(std::uint32_t group)> of,
             std::function<std::uint32_t(std::uint32_t group, std::uint32_t member)> first_device)
      : of_(std::move(of)), first_device_(std::move(first_device)) {}

  /// As NcclSchedules::over_channels. Where the groups' rings or trees differ, the call comes back as it is.
  Result<CollectiveCall> over_channels(CollectiveCall call, std::uint32_t channels = 0) const;

 private:
  void add(const NcclComm& comm, const NcclSchedules::Laid& laid, const GroupFamily& groups, std::uint32_t group,
           std::map<std::uint32_t, std::uint32_t>& row_of, ChannelNics& nics) const;
  std::function<NcclSchedules&(std::uint32_t)> of_;
  std::function<std::uint32_t(std::uint32_t, std::uint32_t)> first_device_;
};

}  // namespace busbar
