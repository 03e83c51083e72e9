// One training step as data: operations on streams with dependencies, per rank role. Knows ranks, never links.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/base/units.h"
#include "busbar/collectives/schedule.h"
#include "busbar/program/channel_nics.h"
#include "busbar/program/protocol.h"

namespace busbar {

enum class OpId : std::uint32_t {};
enum class CallId : std::uint32_t {};
enum class RoleId : std::uint32_t {};

/// A collective over every group of a family of global ranks at once: all 64 tensor-parallel groups are one call.
struct CollectiveCall {
  Collective op{};
  Bytes bytes{0};          ///< S as nccl-tests counts it, per group
  GroupFamily groups;      ///< member i of a group is rank i of the collective; outer chunk strides unused
  std::uint32_t root = 0;  ///< member
  std::string algorithm;   ///< one of build_schedule's, or a policy of room choice: "auto", "fastest"
  Protocol protocol = Protocol::kAuto;
  std::uint32_t chunks = 0;    ///< pieces that pipeline through the schedule's phases; 0: the lowering decides
  std::uint32_t channels = 0;  ///< that share the bytes, each with NICs of its own; 0: as many as use every NIC
  PairCounts
      pairs{};  ///< all_to_allv: what each pair of members exchanges, in chunks of which the busiest sender has S
  /// Of `op` over one group, made for this machine; null: what `algorithm` builds. Shared by the calls of all sizes.
  std::shared_ptr<const Schedule> schedule{};
  /// NICs of the channels of `schedule`; null: each rank uses those that are nearest to its GPU. Shared likewise.
  std::shared_ptr<const ChannelNics> nics{};
  bool operator==(const CollectiveCall&) const = default;
};

/// Of the call's own schedule, or of its algorithm.
AlgorithmTraits traits_of(const CollectiveCall& call);

/// What an operation is for: the rows of the breakdown.
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
  GroupFamily ranks;                 ///< one group with all ranks of the role
};

/// Operations of one role that it runs again and again, written once: what a stage does for a micro-batch.
struct Pass {
  /// In a dependency: the n-th of PassUse::outside, not operation n of the pass.
  static constexpr std::uint32_t kOutside = 0x8000'0000u;
  std::vector<Op> ops;  ///< role and micro_batch are those of the use
  Csr<OpId> deps;       ///< per op: earlier ops of the pass by their place in it, or kOutside + n
};

/// One run of a pass. Its operations have the ids first, first + 1, ...
struct PassUse {
  std::uint32_t pass = 0;
  OpId first{};
  RoleId role{};
  std::uint16_t micro_batch = 0;
};

/// Rules: ops on one (role, stream) run in the order listed, each starting no earlier than its predecessor's end and
/// the end of every dependency. Dependencies may cross roles and may only point backwards (dependency id < own id) or,
/// across roles, anywhere as long as no cycle arises.
/// The list is `ops` with the operations of every use in between: ids count both. Without uses ids are places in `ops`;
/// else OpIndex (program/passes.h) says what an id is.
struct Program {
  std::vector<Role> roles;
  std::vector<std::string> labels;
  std::vector<CollectiveCall> calls;  ///< interned: equal calls are one entry
  std::vector<Op> ops;                ///< those that are in no pass
  Csr<OpId> deps;                     ///< per op of `ops`
  std::vector<Pass> passes;
  std::vector<PassUse> uses;  ///< by first
  Csr<OpId> outside;          ///< per use: what operations of the pass wait for beside it; at most kMostOutside
  static constexpr std::uint32_t kMostOutside = 32;
};

}  // namespace busbar
