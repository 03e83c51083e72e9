// The longest dependency chain of a run, hop by hop.
#pragma once

#include <string>
#include <vector>

#include "busbar/lowering/chain_part.h"
#include "busbar/lowering/internal/placed_machine.h"
#include "busbar/lowering/internal/run_times.h"

namespace busbar::lowering {

/// The chains of a call that is being lowered.
struct ChainTrace {
  std::vector<std::uint32_t> wanted{};  ///< per stage: the fluid to trace; empty: the one that seems slowest
  std::vector<StageChain> stages{};     ///< that are finished
  StageChain open{};                    ///< of the stage that is being built

  bool traces(std::size_t fluid) const { return wanted.empty() || wanted_at(stages.size()) == fluid; }
  bool keeps(std::size_t fluid, double ps) const { return wanted.empty() ? ps > open.ps : traces(fluid); }

 private:
  std::uint32_t wanted_at(std::size_t stage) const { return stage < wanted.size() ? wanted[stage] : kNone32; }
};

/// Follows an open run whose sends are timed. All arguments outlive it.
class RunTracer {
 public:
  /// One send on the chain.
  struct Hop {
    std::uint32_t from, to, round;
    PieceCost cost;
  };
  /// `name`: of the run's phase.
  RunTracer(const PlacedMachine& machine, const PlannedCall& plan, const RunTimes& times, const GroupRun& of,
            const OpenRun& run, const std::string& name)
      : machine_(machine),
        plan_(plan),
        times_(times),
        of_(of),
        run_(run),
        name_(name),
        piece_(plan.chunk_bytes() * plan.first_phase(of.phases).span),
        busiest_(run.most_bytes()) {}

  /// Parts that follow each other and sum to RunTimes::alone_ps.
  std::vector<ChainPart> trace() const;

 private:
  std::uint32_t actor_at(std::uint32_t position) const;
  /// `key`: the actor that OpenRun::connection_of has the hop by.
  Hop hop(std::uint32_t from, std::uint32_t to, std::uint32_t key, std::uint32_t round) const;
  std::vector<ChainPart> ring() const;
  std::vector<ChainPart> full_rounds(const FullRound& round, std::uint64_t rounds) const;
  std::vector<Hop> chain() const;
  std::vector<Hop> tree() const;
  std::vector<Hop> rounds() const;
  topology::LinkId slowest_link(const Connection& c) const;

  const PlacedMachine& machine_;
  const PlannedCall& plan_;
  const RunTimes& times_;
  const GroupRun of_;
  const OpenRun& run_;
  const std::string& name_;
  const double piece_, busiest_;  ///< bytes of a piece, and of the connection that carries most
};

}  // namespace busbar::lowering
