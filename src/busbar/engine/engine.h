// One interface, three engines: analytic, flow, packet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/base/shortcuts.h"
#include "busbar/base/stop_flag.h"
#include "busbar/lowering/bound.h"
#include "busbar/lowering/what_if.h"
#include "busbar/program/program.h"
#include "busbar/program/protocol.h"
#include "busbar/routing/placement.h"

namespace busbar::lowering {
struct LoweredCall;  // lowering/lowering.h
}  // namespace busbar::lowering

namespace busbar::engine {

/// A collective or transfer has ended.
struct Finished {
  std::uint64_t tag = 0;
  SimTime at;
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// Lowers a call once; starting it afterwards costs no routing. Same call, same id.
  virtual Result<program::CallId> prepare(const program::CollectiveCall& call) = 0;
  /// Whether the calls are one another moved to other servers, so that what is best for one is for the other.
  virtual bool alike(const program::CollectiveCall& /*a*/, const program::CollectiveCall& /*b*/) { return false; }
  /// Time of the call alone on the idle machine.
  virtual Duration time_alone(program::CallId call) const = 0;
  /// What time_alone() of the call cannot go below, said without lowering it; 0 where nothing is known.
  virtual Duration least_time(const program::CollectiveCall& /*call*/) { return {}; }
  virtual lowering::Bound bound_by(program::CallId call) const = 0;
  /// What it may take; those who choose by its times heed it too.
  virtual Shortcuts shortcuts() const { return {}; }
  /// Costs of calls besides their links; null if the engine does not say.
  virtual const program::ProtocolModel* protocol() const { return nullptr; }
  /// What the call became on the links; null when the engine has no fluids.
  virtual const lowering::LoweredCall* lowered(program::CallId) const { return nullptr; }
  /// Whether a call that meets none but those apart from it takes time_alone() to the picosecond.
  virtual bool times_hold() const { return false; }
  /// Whether two calls never change each other's times. Meaningless unless times_hold().
  virtual bool apart(program::CallId /*a*/, program::CallId /*b*/) { return false; }
  /// Starts the call on all its groups. Precondition: `at` is not before the last event; where times_hold(), it may be
  /// if the call has met none but those apart from it since and has not ended yet.
  virtual void start(program::CallId call, std::uint64_t tag, SimTime at) = 0;
  /// Counts `times` runs of the call, past ones that were not started here, into link_bytes().
  virtual void count_runs(program::CallId /*call*/, std::uint64_t /*times*/) {}
  /// The next end not after `limit`, in order of (time, start sequence); empty when there is none until then.
  virtual std::optional<Finished> advance(SimTime limit) = 0;
  /// Why no call may ever end any more, found in the middle of a run.
  virtual Status status() const { return {}; }
  /// Bytes that crossed each directed link so far; size link_count().
  virtual std::vector<double> link_bytes() const = 0;
  /// Adds to `bytes` (size link_count()) what one run of the call by itself sends over each link.
  virtual void add_bytes_of(program::CallId /*call*/, std::vector<double>& /*bytes*/) const {}
};

/// Calls that were lowered once, for other engines over the same machine, ranks, protocol, what-if and delays.
struct LoweredCalls {
  /// A call that was moved from another one instead.
  struct Image {
    std::shared_ptr<const lowering::LoweredCall> call, from;
  };
  std::vector<std::shared_ptr<const lowering::LoweredCall>> calls;
  std::vector<Image> images;
};

struct EngineOptions {
  program::ProtocolModel protocol;
  lowering::WhatIf what_if;
  std::vector<lowering::LinkDelay> delays{};  ///< times are those to be expected
  bool keep_chains = false;                   ///< of calls that are lowered, for Lowering::explain()
  std::shared_ptr<LoweredCalls> known{};      ///< taken from here, and added; null: none
  Shortcuts shortcuts{};
  StopFlag stop = nullptr;  ///< prepare() and status() then say that they were interrupted, and advance() finds nothing
};

std::unique_ptr<Engine> make_analytic_engine(const routing::Router& router, const routing::Placement& placement,
                                             EngineOptions options);
std::unique_ptr<Engine> make_flow_engine(const routing::Router& router, const routing::Placement& placement,
                                         EngineOptions options);

}  // namespace busbar::engine
