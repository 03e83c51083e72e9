// One training step as data: operations on streams, with dependencies, per rank role. It knows ranks, but no links.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/base/units.h"
#include "busbar/collectives/schedule.h"
#include "busbar/program/channel_nics.h"
#include "busbar/program/protocol.h"

namespace busbar::program {

enum class OpId : std::uint32_t {};
enum class CallId : std::uint32_t {};
enum class RoleId : std::uint32_t {};

/// A collective that runs on every group of a family of global ranks at once: all 64 tensor-parallel groups are one
/// call.
struct CollectiveCall {
  collectives::Collective op{};
  Bytes bytes{0};                   ///< S as nccl-tests counts it, per group
  collectives::GroupFamily groups;  ///< member i of a group is rank i of the collective; outer chunk strides unused
  std::uint32_t root = 0;           ///< member
  std::string algorithm;            ///< an algorithm of build_schedule, or a policy of room choice: "auto", "fastest"
  Protocol protocol = Protocol::kAuto;
  std::uint32_t chunks = 0;    ///< pieces pipelined through the schedule's phases; 0: the lowering decides
  std::uint32_t channels = 0;  ///< channels that share the bytes, each with its own NICs; 0: as many as use every NIC
  collectives::PairCounts pairs{};  ///< all_to_allv: chunks between each pair of members; the busiest sender has S
  /// A schedule of `op` over one group, made for this machine; null: that of `algorithm`. Shared by the calls of all
  /// sizes.
  std::shared_ptr<const collectives::Schedule> schedule{};
  /// NICs of the channels of `schedule`; null: each rank uses the NICs nearest to its GPU. Shared likewise.
  std::shared_ptr<const ChannelNics> nics{};
  /// Its time, of that of the same call alone by the library's kernels: others are slower, or share the GPU with
  /// products.
  double slowdown = 1;
  /// Where a library runs some groups in another way than others: one call per way, over its groups. They start
  /// together, and differ in groups, algorithm, protocol, chunks, schedule and NICs. Empty: all groups run alike.
  std::vector<CollectiveCall> parts{};
  bool operator==(const CollectiveCall&) const = default;
};

/// The parts of a call; a call without parts is its only one.
std::span<const CollectiveCall> parts_of(const CollectiveCall& call);

/// The traits of the call's own schedule, or of its algorithm.
collectives::AlgorithmTraits traits_of(const CollectiveCall& call);

/// The purpose of an operation: the rows of the breakdown.
enum class OpClass : std::uint8_t { kCompute, kTp, kDp, kPp, kCp, kEp, kOptimizer, kOther };
const char* name_of(OpClass c);  ///< "compute", "tp", ...

enum class OpKind : std::uint8_t {
  kDelay,       ///< `duration` of work on its stream
  kCollective,  ///< `call`, started when dependencies and stream allow
};

struct Op {
  OpKind kind{};
  OpClass cls{};
  std::uint16_t stream = 0;  ///< of its role
  std::uint16_t label = 0;   ///< index into Program::labels
  RoleId role{};
  Duration duration;                                ///< kDelay
  CallId call = static_cast<CallId>(0xffff'ffffu);  ///< kCollective
  std::uint16_t micro_batch = 0;
  std::uint16_t layer = 0;
};

/// Ranks that do the same work at the same time (one pipeline stage), simulated once.
struct Role {
  std::string name;                  ///< "stage 2"
  std::vector<std::string> streams;  ///< "compute", "tp", "dp", "pp send", ...
  collectives::GroupFamily ranks;    ///< one group with all ranks of the role
};

/// Operations that one role runs repeatedly, written once: the work of a stage for one micro-batch.
struct Pass {
  /// In a dependency: this bit means the n-th entry of PassUse::outside, not operation n of the pass.
  static constexpr std::uint32_t kOutside = 0x8000'0000u;
  std::vector<Op> ops;  ///< role and micro_batch are those of the use
  Csr<OpId> deps;       ///< per op: earlier ops of the pass by their place, or kOutside + n
};

/// One run of a pass. Its operations have the ids first, first + 1, ...
struct PassUse {
  std::uint32_t pass = 0;
  OpId first{};
  RoleId role{};
  std::uint16_t micro_batch = 0;
};

/// Rules: ops on one (role, stream) run in the order listed. Each starts after its predecessor's end and after the end
/// of every dependency. A dependency points backwards (dependency id < own id). Across roles it may point anywhere, as
/// long as there is no cycle. The full list is `ops` with the operations of all uses in between, and ids count both.
/// Without uses an id is a place in `ops`; otherwise OpIndex (program/passes.h) resolves it.
struct Program {
  std::vector<Role> roles;
  std::vector<std::string> labels;
  std::vector<CollectiveCall> calls;  ///< distinct calls
  std::vector<Op> ops;                ///< operations in no pass
  Csr<OpId> deps;                     ///< per op of `ops`
  std::vector<Pass> passes;
  std::vector<PassUse> uses;  ///< by first
  Csr<OpId> outside;          ///< per use: the outside operations that the pass depends on; at most kMostOutside
  static constexpr std::uint32_t kMostOutside = 32;
};

}  // namespace busbar::program
