// The only way to time a collective (DESIGN 4.11): a machine, a call, a policy -> Prediction.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "busbar/floors/floor_tiers.h"
#include "busbar/packet/packet_engine.h"
#include "busbar/predict/call_chooser.h"
#include "busbar/predict/communicators.h"
#include "busbar/predict/policy.h"
#include "busbar/predict/prediction.h"
#include "busbar/spec/cluster.h"

namespace busbar::predict {

/// What time() computes in addition to the time.
struct TimeAsk {
  std::uint32_t jobs = 1;  ///< number of jobs that start at once, job j on the call's ranks + j x the size of a group
  bool floor = true;
  bool relief = true;    ///< for one job of up to 1,024 ranks: lowers the call many times
  bool limit = false;    ///< where `relief` is not wanted: still the kind of the limit and its cause, as with it
  bool explain = false;  ///< relief of every kind of link for any number of ranks, and the chain
};

inline constexpr TimeAsk kTimeAlone{.floor = false, .relief = false};

/// S = `bytes` over ranks 0 to n - 1, everything else to be chosen.
program::CollectiveCall call_over(collectives::Collective op, Bytes bytes, std::uint32_t n);

/// A machine with ranks on its GPUs and a policy. Algorithms of a call:
/// "auto": NCCL's or RCCL's choice, over its own rings, trees and NICs; if neither supports these GPUs, the fastest of
/// the algorithms that all libraries have;
/// "ring", "tree", "nvls", "nvlstree", "pat": as NCCL runs it with NCCL_ALGO, if it can;
/// "synthesized": made for this machine; "fastest": the fastest of all; any other: as collectives/ builds it.
/// Protocol::kAuto and 0 chunks are chosen together with the algorithm.
class Predictor {
 public:
  /// Rank r runs on gpus[r]; empty: on all GPUs in order.
  static Result<std::unique_ptr<Predictor>> make(spec::Cluster cluster, std::vector<topology::DeviceId> gpus,
                                                 PredictPolicy policy = {});
  ~Predictor();

  const spec::Cluster& cluster() const { return cluster_; }
  const PredictPolicy& policy() const { return policy_; }
  const routing::Router& router() const { return *router_; }
  const program::ProtocolModel& protocol() const { return protocol_; }
  const routing::Placement& placement() const { return *placement_; }
  std::uint32_t ranks() const { return placement_->ranks() / (policy_.host_memory ? 2 : 1); }
  /// The library that chooses algorithms for these ranks: "NCCL 2.30", "RCCL"; empty: none, so the fastest is taken.
  std::string library(const collectives::GroupFamily& groups);
  /// Whether the ranks of a group are in more than one block of the machine.
  bool several_nodes(const collectives::GroupFamily& groups) const;
  /// Whether the groups copy between GPUs and host memory: ranks of host memory follow those of the GPUs.
  bool in_host_memory(const collectives::GroupFamily& groups) const;
  /// The meaning of algorithm "auto" for these ranks: "as NCCL 2.30 chooses".
  std::string words_of_auto(const collectives::GroupFamily& groups);
  choice::LegalAlgorithms legal(const program::CollectiveCall& call) const;

  /// The call with its algorithm, protocol, orders of ranks and NICs, as time() runs it. Every engine of this predictor
  /// accepts it, also while other calls run.
  Result<program::CollectiveCall> prepare(const program::CollectiveCall& call);
  /// Prepares every call of a program.
  Status prepare(program::Program& program);
  /// A new engine of fluids for prepared calls: the policy's, or "flow" if that is "packet".
  std::unique_ptr<engine::Engine> open_engine(const lowering::WhatIf& what_if = {}) const;
  /// The change that makes all transfers between servers take the penalty's p99. Pre: the policy has a penalty.
  lowering::WhatIf late_transfers() const;
  /// A new packet engine for prepared calls. Pre: the policy has packets.
  std::unique_ptr<packet::PacketEngine> open_packets() const;

  /// Times the call alone on the machine, or as several jobs.
  Result<Prediction> time(const program::CollectiveCall& call, const TimeAsk& ask = {});
  /// The time that no schedule on this machine can beat.
  floors::Floor floor(const program::CollectiveCall& call);

 private:
  Predictor(spec::Cluster cluster, PredictPolicy policy);
  bool asks_limit(const program::CollectiveCall& call, const TimeAsk& ask) const;
  bool asks_relief(const program::CollectiveCall& call, const TimeAsk& ask) const;
  TrialEngines open_trials(const program::CollectiveCall& call, const TimeAsk& ask) const;
  choice::TrialHelpers::Engines trial_engines(const routing::Router& router, const program::CollectiveCall& call,
                                              bool keep_chains) const;
  engine::EngineOptions engine_options() const;
  std::unique_ptr<engine::Engine> open(engine::EngineOptions options, bool flow,
                                       const routing::Router* router = nullptr) const;
  Result<std::vector<program::CollectiveCall>> jobs_of(const program::CollectiveCall& asked, const ChosenCall& first,
                                                       std::uint32_t jobs, TrialEngines& trials);
  Status run(const std::vector<program::CollectiveCall>& jobs, const TimeAsk& ask, TrialEngines& trials,
             Prediction& out);
  Status judge(const std::vector<program::CollectiveCall>& jobs, const TimeAsk& ask, TrialEngines& trials,
               Prediction& out);
  Status add_chain(const lowering::LoweredCall& lowered, const TimeAsk& ask, Prediction& out) const;
  std::string cause_of(const Prediction& p);
  void wait_for_host(Prediction& out) const;
  Status relieve_machine(const program::CollectiveCall& asked, Prediction& out);
  Status add_jitter(Prediction& out) const;

  spec::Cluster cluster_;
  PredictPolicy policy_;
  program::ProtocolModel protocol_;
  std::unique_ptr<routing::Router> router_;
  std::unique_ptr<routing::Placement> placement_;
  choice::OtherThreads threads_;  ///< that trials and relief may use
  std::unique_ptr<Communicators> communicators_;
  std::unique_ptr<CallChooser> chooser_;
  std::shared_ptr<engine::LoweredCalls> lowered_;                                      ///< of prepared calls
  std::optional<TrialEngines> trials_;                                                 ///< of prepared calls
  std::vector<std::pair<program::CollectiveCall, program::CollectiveCall>> prepared_;  ///< as given and as prepared
  std::optional<floors::FloorTiers> tiers_;
  struct Changed {
    std::string what;
    bool memory = false;
    std::unique_ptr<Predictor> machine;
  };
  std::optional<std::vector<Changed>> changed_;  ///< result of machine_changes(), computed on first use
  std::vector<std::pair<program::CollectiveCall, floors::MachineFloor>>
      floors_;  ///< one per set of calls that floors cannot tell apart
};

}  // namespace busbar::predict
