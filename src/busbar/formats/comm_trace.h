// Collectives from traces of training runs: Chakra execution traces and Kineto (PyTorch profiler) traces.
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

namespace busbar::formats {

/// One collective as one rank saw it. Zero and empty mean: not in the trace.
struct TracedCollective {
  std::optional<collectives::Collective> op;  ///< empty: point to point, a barrier, or an unknown name
  std::string name;                           ///< as written
  std::uint64_t bytes = 0;                    ///< S as nccl-tests counts it
  std::uint32_t ranks = 0;
  std::string group;                   ///< name of its process group
  std::vector<std::uint32_t> members;  ///< global ranks, if the trace lists them
  double start_us = 0, duration_us = 0;
  std::uint32_t channels = 0;
  bool on_gpu = true;  ///< false: only the call was traced, so its duration is not that of the collective
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

/// What one rank did, and after what: the nodes of a trace that can be replayed.
enum class TraceNodeKind : std::uint8_t { kWork, kSend, kReceive, kCollective };
struct TraceNode {
  TraceNodeKind kind{};
  std::uint64_t id = 0;
  std::vector<std::uint64_t> after;  ///< ids of nodes of the same rank
  Duration work{};
  TracedCollective call;            ///< collectives; `bytes` of sends and receives
  std::uint64_t peer = 0, tag = 0;  ///< sends: to; receives: from
};

/// Collectives of one kind, size and set of ranks.
struct TracedCall {
  std::string what;
  std::optional<collectives::Collective> op;
  std::uint64_t bytes = 0;
  std::uint32_t ranks = 0;
  std::uint64_t times = 0;
  double median_us = 0, fastest_us = 0;  ///< 0: not measured
  std::vector<std::uint32_t> members;
};
/// In order of name, size and ranks. A long kernel may have waited for other ranks, so the fastest matters most.
std::vector<TracedCall> alike(const CommTrace& trace);

bool looks_like_chakra(std::string_view head);
bool looks_like_chakra_json(std::string_view head);
bool looks_like_kineto(std::string_view head);

/// The collective named by a kernel or a call: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", "nccl:all_reduce",
/// "_allgather_base".
std::optional<collectives::Collective> collective_in(std::string_view name);

/// Reads message by message; memory holds one message. Errors name the byte. Source: mlcommons/chakra,
/// schema/protobuf/et_def.proto.
Result<CommTrace> read_chakra(std::istream& in, const std::string& name);
/// Every node of a Chakra trace of either encoding, in the order of the file; memory holds all of them.
Result<std::vector<TraceNode>> read_chakra_nodes(std::istream& in, const std::string& name, bool json);
/// The same as JSON, node by node. Source: mlcommons/chakra, the input of its feeder.
Result<CommTrace> read_chakra_json(std::istream& in, const std::string& name);

/// Reads event by event; memory holds one event and the collectives. Source: pytorch/kineto, and the fields that
/// PyTorch's record_param_comms adds to events of NCCL's kernels.
Result<CommTrace> read_kineto(std::istream& in, const std::string& name);

}  // namespace busbar::formats
