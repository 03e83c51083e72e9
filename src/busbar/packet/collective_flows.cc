#include "busbar/packet/collective_flows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "busbar/base/random.h"
#include "busbar/collectives/builders.h"
#include "busbar/collectives/moves.h"
#include "busbar/lowering/channels.h"
#include "busbar/lowering/crossings.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/memory_limit.h"
#include "busbar/lowering/send_costs.h"
#include "busbar/packet/internal/reduction_flows.h"

namespace busbar::packet {
namespace {

/// Which flows filled which chunk: per (actor, buffer, chunk) a list of flows.
class Fillers {
 public:
  Fillers(std::uint32_t actors, std::uint32_t chunks)
      : chunks_(chunks), head_(std::size_t{actors} * 3 * chunks, kNone32) {}

  std::uint32_t of(std::uint32_t actor, collectives::Buffer buffer, std::uint32_t chunk) const {
    return head_[place(actor, buffer, chunk)];
  }
  /// Calls f(flow) for the flows that filled it.
  template <class F>
  void each(std::uint32_t actor, collectives::Buffer buffer, std::uint32_t chunk, F&& f) const {
    for (std::uint32_t e = of(actor, buffer, chunk); e != kNone32; e = entries_[e].next) f(entries_[e].flow);
  }
  /// The chunks now hold data of `flows` and, in a reduction, of the flows that filled the operand before.
  void fill(const collectives::Move& m, std::span<const std::uint32_t> flows) {
    for (std::uint32_t chunk = m.first_chunk; chunk < m.first_chunk + m.chunk_count; ++chunk) {
      std::uint32_t before = m.reduce ? of(m.dst, m.operand, chunk) : kNone32;
      for (const std::uint32_t flow : flows) {
        entries_.push_back({flow, before});
        before = static_cast<std::uint32_t>(entries_.size()) - 1;
      }
      head_[place(m.dst, m.dst_buffer, chunk)] = before;
    }
  }

 private:
  struct Entry {
    std::uint32_t flow, next;
  };
  std::size_t place(std::uint32_t actor, collectives::Buffer buffer, std::uint32_t chunk) const {
    return (std::size_t{actor} * 3 + static_cast<std::size_t>(buffer)) * chunks_ + chunk;
  }
  std::uint32_t chunks_;
  std::vector<std::uint32_t> head_;
  std::vector<Entry> entries_;
};

/// Which flows a message stands behind, besides those that filled its chunks, as messages (collectives::plan_of) and
/// fluids (lowering/followed_rounds.cc) do. In a phase with rounds: all that its rank sent and received in earlier
/// rounds. In a direct one: what it last sent the same rank. Pieces of rings, trees and chains follow those that bring
/// them.
class SendOrder {
 public:
  using Flows = ReductionFlows::Flows;
  explicit SendOrder(std::uint32_t ranks) : last_(ranks), sent_(ranks), received_(ranks) {}

  void begin_phase(std::uint16_t channel, bool by_rounds) {
    if (!by_rounds || channel_ != channel) std::fill(last_.begin(), last_.end(), Flows());
    channel_ = channel;
    by_rounds_ = by_rounds;
  }
  const Flows& before(const collectives::Move& m) { return by_rounds_ ? last_[m.src] : to_peer(m); }
  void add(const collectives::Move& m, const Flows& flows) {
    if (!by_rounds_) return void(to_peer(m) = flows);
    sent_[m.src].insert(sent_[m.src].end(), flows.begin(), flows.end());
    received_[m.dst].insert(received_[m.dst].end(), flows.begin(), flows.end());
    touched_.insert(touched_.end(), {m.src, m.dst});
  }
  /// A rank's sends waited for what it did before, so they stand for it.
  void end_round() {
    for (const std::uint32_t rank : touched_) {
      if (!sent_[rank].empty()) last_[rank] = std::exchange(sent_[rank], {});
      last_[rank].insert(last_[rank].end(), received_[rank].begin(), received_[rank].end());
      received_[rank].clear();
    }
    touched_.clear();
  }

 private:
  Flows& to_peer(const collectives::Move& m) { return to_peer_[{channel_, m.src, m.dst}]; }

  bool by_rounds_ = false;
  std::uint16_t channel_ = 0;
  std::vector<Flows> last_, sent_, received_;  ///< per rank: of the rounds before, of the open round
  std::vector<std::uint32_t> touched_;         ///< ranks of the open round
  std::map<std::tuple<std::uint16_t, std::uint32_t, std::uint32_t>, Flows> to_peer_;
};

class Unroller {
 public:
  Unroller(const program::CollectiveCall& call, const collectives::Schedule& s, const routing::Router& router,
           const routing::Placement& placement, const program::ProtocolModel& protocol, program::FlowList& list)
      : call_(call),
        s_(s),
        router_(router),
        topology_(router.topology()),
        placement_(placement),
        launch_(SimTime::at(lowering::launch_of(protocol, call.protocol, call.groups.size()))),
        list_(list),
        per_order_(s.traits.channels_per_order),
        protocol_(protocol),
        costs_(lowering::costs_of(protocol, call.protocol)) {
    const unsigned __int128 chunks = s.chunks;
    bytes_ = static_cast<std::uint64_t>(count(call.bytes) * chunks / s.chunks_per_buffer());
  }

  /// Pieces that pipeline through the phases are consecutive segments. A switch that adds waits for all operands before
  /// it sends; its calls are cut into segments too.
  Status unroll(std::uint32_t group) {
    constexpr std::uint64_t kLeastSegment = 256 * 1024, kMostSegments = 32;
    segments_ = s_.reducers == 0 ? lowering::pipeline_chunks(call_, s_, protocol_, s_.channels)
                                 : std::clamp<std::uint64_t>(bytes_ / kLeastSegment, 1, kMostSegments);
    BUSBAR_RETURN_IF_ERROR(count_moves());
    for (segment_ = 0; segment_ < segments_; ++segment_) {
      const std::size_t first = list_.flows.size();
      BUSBAR_RETURN_IF_ERROR(unroll_segment(group));
      per_segment_ = list_.flows.size() - first;
    }
    return {};
  }

 private:
  using Flows = ReductionFlows::Flows;

  Error too_many_moves() const {
    return {ErrorCode::kUnsupported,
            fmt::format("{} on {} ranks has more than {} moves; use fewer ranks, or --engine flow", s_.algorithm,
                        s_.ranks, kMostMoves),
            {}};
  }

  /// Refuses a call with too many moves before they take memory. Few rounds of few ranks need no count.
  Status count_moves() const {
    std::uint64_t all_rounds = 0, moves = 0;
    for (const collectives::Phase& phase : s_.phases) all_rounds += collectives::rounds(s_, phase);
    if (all_rounds * s_.ranks * s_.ranks * segments_ < kMostMoves) return {};  // a rank sends to each other one at most
    for (const collectives::Phase& phase : s_.phases) {
      for (std::uint32_t round = 0; round < collectives::rounds(s_, phase); ++round) {
        collectives::for_each_move(s_, phase, round,
                                   [&](const collectives::Move& m) { moves += m.chunk_count > 0 ? segments_ : 0; });
        if (list_.flows.size() + moves > kMostMoves) return too_many_moves();
      }
    }
    return {};
  }

  Status unroll_segment(std::uint32_t group) {
    // Data that is there from the start has no predecessor; an uneven all-to-all may have a billion chunks.
    waits_ = s_.phases.size() != 1 || collectives::coupling_of(s_.phases[0].pattern) != collectives::Coupling::kFree;
    Fillers fillers(s_.ranks + s_.reducers, waits_ ? s_.chunks : 0);
    SendOrder order(s_.ranks);
    std::vector<collectives::Move> moves;
    for (const collectives::Phase& phase : s_.phases) {
      order.begin_phase(phase.channel, has_rounds(phase));
      for (std::uint32_t round = 0; round < collectives::rounds(s_, phase); ++round) {
        moves.clear();
        collectives::for_each_move(s_, phase, round, [&](const collectives::Move& m) {
          if (m.chunk_count > 0) moves.push_back(m);
        });
        // Moves of one round send data of earlier rounds, so call fill() only after all moves of the round.
        if (collectives::uses_hub(phase.pattern)) {
          BUSBAR_RETURN_IF_ERROR(add_by_hub(phase, group, moves, fillers));
        } else {
          add_direct(phase, group, moves, fillers, order);
        }
        if (list_.flows.size() > kMostMoves) return too_many_moves();  // relays and crossings are flows of their own
      }
    }
    return {};
  }

  bool has_rounds(const collectives::Phase& phase) const {
    return collectives::is_stepwise(phase.pattern) && !collectives::uses_hub(phase.pattern) &&
           collectives::rounds(s_, phase) > 1;
  }

  /// What a rank sends another in one round is one message.
  void add_direct(const collectives::Phase& phase, std::uint32_t group, std::span<const collectives::Move> moves,
                  Fillers& fillers, SendOrder& order) {
    const bool ordered = collectives::is_stepwise(phase.pattern) && (waits_ || has_rounds(phase));
    std::vector<std::pair<std::span<const collectives::Move>, Flows>> messages;
    for (std::size_t i = 0, end = 0; i < moves.size(); i = end) {
      while (end < moves.size() && moves[end].src == moves[i].src && moves[end].dst == moves[i].dst) ++end;
      const std::span<const collectives::Move> blocks = moves.subspan(i, end - i);
      messages.emplace_back(blocks, add(blocks, phase, group, fillers, ordered ? order.before(moves[i]) : Flows()));
    }
    for (const auto& [blocks, flows] : messages) {
      for (const collectives::Move& m : blocks)
        if (waits_) fillers.fill(m, flows);
      if (ordered) order.add(blocks.front(), flows);
    }
    order.end_round();
  }

  Status add_by_hub(const collectives::Phase& phase, std::uint32_t group, std::span<const collectives::Move> moves,
                    Fillers& fillers) {
    if (!reductions_)
      reductions_.emplace(call_, s_, topology_, placement_, protocol_,
                          lowering::ranks_per_domain(call_, topology_, placement_),
                          [this](program::ListedFlow f, const ReductionFlows::Flows& after) { return emit(f, after); });
    const auto filled = [&](const collectives::Move& m) { return filled_by(m, fillers); };
    const auto size_of = [&](const collectives::Move& m) { return bytes_of(m); };
    BUSBAR_ASSIGN(const std::vector<ReductionFlows::Flows> flows,
                  reductions_->round(phase, group, moves, filled, size_of));
    for (std::size_t i = 0; i < moves.size(); ++i) fillers.fill(moves[i], flows[i]);
    return {};
  }

  std::uint64_t begin_of(std::uint32_t chunk) const {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(bytes_) * chunk / s_.chunks);
  }
  /// In the current segment.
  std::uint64_t bytes_of(const collectives::Move& m) const {
    const std::uint64_t all = begin_of(m.first_chunk + m.chunk_count) - begin_of(m.first_chunk);
    return all * (segment_ + 1) / segments_ - all * segment_ / segments_;
  }
  std::vector<std::uint32_t> filled_by(const collectives::Move& m, const Fillers& fillers) const {
    std::vector<std::uint32_t> flows;
    for (std::uint32_t c = m.first_chunk; waits_ && c < m.first_chunk + m.chunk_count; ++c)
      fillers.each(m.src, m.src_buffer, c, [&](std::uint32_t flow) { flows.push_back(flow); });
    return flows;
  }

  /// The blocks of one message: a flow per crossing; one to the relaying GPU and one from it, which run at the same
  /// time, if there is one.
  Flows add(std::span<const collectives::Move> blocks, const collectives::Phase& phase, std::uint32_t group,
            const Fillers& fillers, const Flows& behind) {
    const collectives::Move& m = blocks.front();
    const std::uint32_t a = call_.groups.actor(group, m.src), b = call_.groups.actor(group, m.dst);
    const std::uint32_t channel = phase.channel / per_order_;
    const topology::DeviceId from = placement_.gpu(a), to = placement_.gpu(b);
    crossings_.assign(1, {from, placement_.nic(a, channel), placement_.nic(b, channel)});
    if (topology_.block_of(from) != topology_.block_of(to))
      lowering::find_crossings(router_, placement_, call_.nics.get(), a, b, channel, crossings_);
    Flows after = behind, out;
    std::uint64_t data = 0;
    for (const collectives::Move& block : blocks) {
      const Flows fillers_of = filled_by(block, fillers);
      after.insert(after.end(), fillers_of.begin(), fillers_of.end());
      data += bytes_of(block);
    }
    const auto bytes = static_cast<std::uint64_t>(std::ceil(static_cast<double>(data) / costs_.efficiency));
    const std::uint64_t ways = crossings_.size();
    for (std::uint64_t i = 0; i < ways; ++i) {
      const lowering::Crossing& way = crossings_[i];
      program::ListedFlow f;
      if (!behind.empty()) f.trigger = program::FlowTrigger::kSent;
      f.overhead = overhead(from, to);
      if (topology_.block_of(from) != topology_.block_of(to))
        f.overhead = f.overhead + protocol_.messages.of(static_cast<double>(bytes));
      f.nic_from = f.nic_to = kNone<topology::DeviceId>;
      f.bytes = Bytes{bytes * (i + 1) / ways - bytes * i / ways};
      f.from = from;
      f.to = way.gpu;
      if (way.gpu != from) out.push_back(emit(f, after));
      f.from = way.gpu;
      f.to = to;
      f.nic_from = way.nic_from;
      f.nic_to = way.nic_to;
      out.push_back(emit(f, after));
    }
    return out;
  }

  Duration overhead(topology::DeviceId from, topology::DeviceId to) {
    const auto [known, fresh] = overhead_.try_emplace({from, to});
    if (fresh) known->second = overhead_between(router_, costs_, from, to);
    return known->second;
  }

  /// A move has two segments in progress at a time. These pay the overheads, which later ones hide behind them.
  std::uint32_t emit(program::ListedFlow f, Flows after) {
    constexpr std::uint64_t kUnderWay = 2;
    const auto number = static_cast<std::uint32_t>(list_.flows.size());
    f.start = launch_;
    if (segment_ >= kUnderWay) f.overhead = Duration();
    if (segment_ >= kUnderWay) after.push_back(number - static_cast<std::uint32_t>(kUnderWay * per_segment_));
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    list_.after.values.insert(list_.after.values.end(), after.begin(), after.end());
    list_.after.close_row();
    list_.flows.push_back(f);
    return number;
  }

  const program::CollectiveCall& call_;
  const collectives::Schedule& s_;
  const routing::Router& router_;
  const topology::Topology& topology_;
  const routing::Placement& placement_;
  SimTime launch_;
  program::FlowList& list_;
  std::uint32_t per_order_;
  std::uint64_t bytes_ = 0;
  std::uint64_t segment_ = 0, segments_ = 1;
  std::size_t per_segment_ = 0;  ///< flows
  std::vector<lowering::Crossing> crossings_;
  bool waits_ = true;  ///< moves send data that other moves bring
  const program::ProtocolModel& protocol_;
  const program::ProtocolCosts costs_;
  std::map<std::pair<topology::DeviceId, topology::DeviceId>, Duration> overhead_;
  std::optional<ReductionFlows> reductions_;
};

Status check_reducers(const collectives::Schedule& s) {
  if (s.reducers > 0)
    return Error{
        ErrorCode::kUnsupported,
        fmt::format(
            "the packet engine does not reduce in the network within a step, which {} needs; use ring or tree, or "
            "--engine flow",
            s.algorithm),
        {}};
  return {};
}

Status check_memory(const program::CollectiveCall& call, const topology::Topology& t,
                    const routing::Placement& placement) {
  for (std::uint32_t g = 0; g < call.groups.groups(); ++g)
    for (std::uint32_t m = 0; m < call.groups.size(); ++m) {
      const topology::DeviceId gpu = placement.gpu(call.groups.actor(g, m));
      if (per_second(lowering::memory_limit(t, gpu)) > 0)
        return unsupported(
            fmt::format("the memory of {} is slower than its links, which packets do not model; use "
                        "--engine flow",
                        t.name(gpu)));
    }
  return {};
}

/// Delays the flows that a rank sends, from flow `first` on, by one random time per rank.
void start_late(const program::CollectiveCall& call, const routing::Placement& placement, Duration mean,
                RandomStream& random, program::FlowList& list, std::size_t first) {
  std::map<topology::DeviceId, Duration> late;
  for (std::uint32_t g = 0; g < call.groups.groups(); ++g)
    for (std::uint32_t r = 0; r < call.groups.size(); ++r)
      late[placement.gpu(call.groups.actor(g, r))] =
          duration_from_ps(-std::log(1 - random.uniform()) * static_cast<double>(mean.in_ps()));
  for (std::size_t f = first; f < list.flows.size(); ++f)
    if (const auto of = late.find(list.flows[f].from); of != late.end())  // switches that add are never late
      list.flows[f].start = list.flows[f].start + of->second;
}

}  // namespace

Duration overhead_between(const routing::Router& router, const program::ProtocolCosts& costs, topology::DeviceId from,
                          topology::DeviceId to) {
  const topology::Topology& t = router.topology();
  if (t.block_of(from) != t.block_of(to)) return costs.step_network;
  std::vector<routing::LinkShare> path;
  if (!router.spread(from, to, kNone<topology::DeviceId>, kNone<topology::DeviceId>, 0, path).ok()) return {};
  return lowering::send_overhead(costs, t, from, to, path);
}

Result<collectives::Schedule> schedule_of(const program::CollectiveCall& call, const topology::Topology& topology,
                                          const routing::Placement& placement) {
  if (call.schedule) return *call.schedule;
  return lowering::build_for_call(call, topology, placement, lowering::ranks_per_domain(call, topology, placement),
                                  call.channels);
}

Status packets_can_run(const program::CollectiveCall& call, const routing::Router& router,
                       const routing::Placement& placement) {
  BUSBAR_RETURN_IF_ERROR(check_memory(call, router.topology(), placement));
  for (const program::CollectiveCall& part : program::parts_of(call)) {
    BUSBAR_ASSIGN(const collectives::Schedule s, schedule_of(part, router.topology(), placement));
    BUSBAR_RETURN_IF_ERROR(check_reducers(s));
  }
  return {};
}

Status add_collective_flows(const program::CollectiveCall& call, const routing::Router& router,
                            const routing::Placement& placement, const program::ProtocolModel& protocol,
                            program::FlowList& list) {
  BUSBAR_RETURN_IF_ERROR(check_memory(call, router.topology(), placement));
  if (!protocol.scale_up_access)
    return Error{ErrorCode::kUnsupported, "packets do not model GPUs without access over scale-up links", {}};
  list.reach = {protocol.gpudirect, protocol.peer_access};
  list.shares = lowering::rate_shares(protocol);
  for (const program::CollectiveCall& part : program::parts_of(call)) {
    BUSBAR_ASSIGN(const collectives::Schedule s, schedule_of(part, router.topology(), placement));
    Unroller unroller(part, s, router, placement, protocol, list);
    for (std::uint32_t g = 0; g < part.groups.groups(); ++g) BUSBAR_RETURN_IF_ERROR(unroller.unroll(g));
  }
  return {};
}

Result<PacketJobs> run_packet_jobs(std::span<const program::CollectiveCall> jobs, const routing::Router& router,
                                   const routing::Placement& placement, const program::ProtocolModel& protocol,
                                   const PacketOptions& options, std::vector<lowering::ChainPart>* chain) {
  program::FlowList list;
  std::vector<std::size_t> end_of;
  RandomStream random(options.seed, "compute jitter");
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const program::CollectiveCall& call = jobs[j];
    const std::size_t first = list.flows.size();
    BUSBAR_RETURN_IF_ERROR(add_collective_flows(call, router, placement, protocol, list));
    end_of.push_back(list.flows.size());
    const std::size_t lanes = options.lanes.size();
    for (std::size_t f = first; f < list.flows.size() && lanes > 1; ++f)
      list.flows[f].lane = static_cast<std::uint8_t>(j % lanes);
    if (options.compute_jitter > Duration()) start_late(call, placement, options.compute_jitter, random, list, first);
  }
  std::vector<Duration> ends;
  for (const program::CollectiveCall& call : jobs)
    ends.push_back(lowering::launch_of(protocol, call.protocol, call.groups.size()));
  if (list.flows.empty()) return PacketJobs{ends, {}};
  BUSBAR_ASSIGN(const PacketResult result, run_packet_list(router, list, options));
  if (result.done < result.flows.size() && result.stuck.empty())
    return Error{ErrorCode::kUnsupported, "stopped before the collective had ended", {}};
  if (!result.stuck.empty()) return Error{ErrorCode::kUnreachable, "the collective cannot end: " + result.stuck, {}};
  for (std::size_t f = 0, j = 0; f < end_of.back(); ++f) {
    while (f >= end_of[j]) ++j;
    ends[j] = std::max(ends[j], result.flows[f].start.since_start() + result.flows[f].received);
  }
  std::sort(ends.begin(), ends.end());
  if (chain != nullptr) *chain = explain_packets(router, list, result);
  return PacketJobs{ends, result};
}

}  // namespace busbar::packet
