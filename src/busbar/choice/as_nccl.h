// What NCCL would take, in the names of our schedules.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "busbar/engine/engine.h"
#include "busbar/nccl/tuning.h"

namespace busbar {

/// What a cluster file says and a topology does not.
struct NcclSurroundings {
  std::string_view fabric_kind;  ///< as in FabricSummary: "rail-optimised"
  bool gpudirect = true, p2p = true;
  NicMerging merges_nics = NicMerging::kByCard;
};
/// On a fabric of rails NCCL_CROSS_NIC is taken to be 0, as NCCL's documentation advises for networks with a switch per
/// NIC and as the rings of public logs of such machines show; else NCCL's own default.
NcclSettings nccl_settings(const NcclSurroundings& around, NcclVersion version = {});

/// Our algorithm for one of NCCL's: "ring", "tree", "nvls", "hierarchical(nvls,tree)", "pat", "sharp"; "fastest"
/// for point to point, where NCCL makes no choice.
std::string schedule_name(NcclAlgorithm algorithm);
/// "simple", "ll", "ll128".
std::string protocol_name(NcclProtocol protocol);

/// A communicator that answers for calls of all sizes.
class NcclChooser {
 public:
  /// Rank r on gpus[r]. Error kUnsupported: accelerators that neither NCCL nor RCCL drives, or RCCL's, whose tables are
  /// not known.
  static Result<NcclChooser> make(const Topology& topology, std::span<const DeviceId> gpus,
                                  const NcclSettings& settings);
  const NcclComm& comm() const { return comm_; }
  const NcclTuning& tuning() const { return tuning_; }
  Result<NcclChoice> choose(Collective op, Bytes bytes, const NcclForced& forced = {}) const {
    return choose_nccl(comm_, tuning_, op, bytes, forced);
  }

 private:
  NcclChooser(NcclComm comm, NcclTuning tuning) : comm_(std::move(comm)), tuning_(std::move(tuning)) {}
  NcclComm comm_;
  NcclTuning tuning_;
};

}  // namespace busbar
