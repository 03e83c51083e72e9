// Collectives out of traces of training runs: Chakra execution traces and Kineto (PyTorch profiler) traces.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/collectives/schedule.h"
#include "busbar/formats/imported.h"

namespace busbar {

/// One collective as one rank saw it. Zero and empty: not said.
struct TracedCollective {
  std::optional<Collective> op;  ///< empty: point to point, barrier, or a name that we do not know
  std::string name;              ///< as written
  std::uint64_t bytes = 0;       ///< S as nccl-tests counts it
  std::uint32_t ranks = 0;
  std::string group;                   ///< name of its process group
  std::vector<std::uint32_t> members;  ///< global ranks, where listed
  double start_us = 0, duration_us = 0;
  std::uint32_t channels = 0;
  bool on_gpu = true;  ///< false: only the call was traced, its duration says nothing of the collective
};

struct CommTrace {
  std::string version;  ///< of the format
  std::uint32_t rank = 0, world_size = 0;
  std::uint64_t events = 0;
  std::map<std::string, std::uint64_t> kinds;  ///< events by kind
  std::vector<TracedCollective> collectives;
  std::uint64_t sends = 0, receives = 0, bytes_sent = 0;  ///< of point-to-point nodes
  std::vector<std::string> notes;
  std::vector<UnknownPart> unknown;
};

/// Collectives of one kind, size and set of ranks.
struct TracedCall {
  std::string what;
  std::optional<Collective> op;
  std::uint64_t bytes = 0;
  std::uint32_t ranks = 0;
  std::uint64_t times = 0;
  double median_us = 0, fastest_us = 0;  ///< 0: not measured
  std::vector<std::uint32_t> members;
};
/// In order of name, size and ranks. A long kernel may have waited for other ranks: the fastest says most.
std::vector<TracedCall> alike(const CommTrace& trace);

bool looks_like_chakra(std::string_view head);
bool looks_like_chakra_json(std::string_view head);
bool looks_like_kineto(std::string_view head);

/// The collective that the name of a kernel or a call tells of: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)",
/// "nccl:all_reduce", "_allgather_base".
std::optional<Collective> collective_in(std::string_view name);

/// Message by message, in memory for one message. Errors name the byte. Source: mlcommons/chakra,
/// schema/protobuf/et_def.proto.
Result<CommTrace> read_chakra(std::istream& in, const std::string& name);
/// The same as JSON, node by node. Source: mlcommons/chakra, what its feeder reads.
Result<CommTrace> read_chakra_json(std::istream& in, const std::string& name);

/// Event by event, in memory for one event and for the collectives. Source: pytorch/kineto, and what PyTorch's
/// record_param_comms adds to events of NCCL's kernels.
Result<CommTrace> read_kineto(std::istream& in, const std::string& name);

}  // namespace busbar
