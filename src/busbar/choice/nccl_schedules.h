// NCCL's own rings and trees as schedules.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "busbar/engine/engine.h"
#include "busbar/nccl/comm.h"

namespace busbar {

/// Schedules of one communicator, each made when it is first asked for and shared by the calls of all sizes.
class NcclSchedules {
 public:
  explicit NcclSchedules(NcclComm comm) : comm_(std::move(comm)) {}
  const NcclComm& comm() const { return comm_; }

  /// `call`, which names an algorithm, over NCCL's rings ("ring") or trees ("tree", all-reduce only); any other
  /// algorithm, and a call over other ranks than the communicator's, comes back as it is. Channels with the same order
  /// become one with their share of the bytes.
  Result<CollectiveCall> over_channels(CollectiveCall call);

 private:
  Result<Schedule> rings(const CollectiveCall& call) const;
  Result<Schedule> trees(const CollectiveCall& call) const;

  NcclComm comm_;
  std::map<std::pair<std::string, Collective>, std::shared_ptr<const Schedule>> made_;
};

}  // namespace busbar
