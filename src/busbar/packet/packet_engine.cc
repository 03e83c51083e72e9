#include "busbar/packet/packet_engine.h"

#include <fmt/core.h>

#include <map>

#include "busbar/base/stop_flag.h"
#include "busbar/engine/prepared.h"
#include "busbar/lowering/send_costs.h"
#include "busbar/packet/collective_flows.h"
#include "busbar/packet/internal/knobs.h"
#include "busbar/packet/internal/queue_pairs.h"
#include "busbar/packet/internal/setup.h"
#include "busbar/packet/internal/threads.h"

namespace busbar::packet {
namespace {

/// The network, made at the first start, when all calls are known.
struct Live {
  Live(Wiring& wiring, const Profile& p, const program::FlowList& list, const std::vector<std::uint32_t>& routes,
       const NetworkSplit& split, const PacketOptions& options)
      : profile(p),
        traffic(wiring, list, routes),
        threads(wiring, traffic, profile, split, bucket_bits(wiring), options, 0) {}
  const Profile profile;
  Traffic traffic;
  PartThreads threads;
};

class OnlinePackets final : public PacketEngine {
 public:
  OnlinePackets(const routing::Router& router, const routing::Placement& placement,
                const engine::EngineOptions& options, PacketOptions packets)
      : router_(router),
        placement_(placement),
        protocol_(options.protocol),
        packets_(std::move(packets)),
        closed_(engine::make_analytic_engine(router, placement, options)),
        wiring_(router, lowering::rate_shares(options.protocol)) {}

  Result<program::CallId> prepare(const program::CollectiveCall& call) override {
    BUSBAR_ASSIGN(const program::CallId id, closed_->prepare(call));
    if (index(id) < calls_.size()) return id;
    if (live_) return Error{ErrorCode::kUnsupported, "the packet engine takes no new call after its start", {}};
    Call c;
    c.slowdown = call.slowdown;
    c.launch = lowering::launch_of(protocol_, call.protocol, call.groups.size());
    BUSBAR_RETURN_IF_ERROR(add_collective_flows(call, router_, placement_, protocol_, c.flows));
    BUSBAR_RETURN_IF_ERROR(check_copies(router_, c.flows));
    if (const std::uint32_t n = queue_pairs_of(packets_); n > 1)
      c.flows = cut_for_queue_pairs(c.flows, router_.topology(), n).list;
    c.successors = program::successors_of(c.flows);
    for (const program::ListedFlow& f : c.flows.flows) {
      BUSBAR_ASSIGN(const std::uint32_t route, wiring_.route(f.from, f.to, f.nic_from, f.nic_to));
      c.routes.push_back(route);
    }
    c.hops = expected_hops(wiring_, c.flows, c.routes, shape_of(packets_).payload);
    calls_.push_back(std::move(c));
    return id;
  }
  Shortcuts shortcuts() const override { return closed_->shortcuts(); }
  Duration time_alone(program::CallId call) const override { return closed_->time_alone(call); }
  lowering::Bound bound_by(program::CallId call) const override { return closed_->bound_by(call); }
  const lowering::LoweredCall* lowered(program::CallId call) const override { return closed_->lowered(call); }
  void add_bytes_of(program::CallId call, std::vector<double>& bytes) const override {
    closed_->add_bytes_of(call, bytes);
  }
  double hops(program::CallId call) const override { return calls_[index(call)].hops; }
  PacketCounts counts() const override {
    PacketCounts all;
    if (!live_) return all;
    let_all_arrive();
    for (const RunningPart* part : live_->threads.parts()) all += counts_of(*part);
    return all;
  }
  std::uint32_t threads() const override { return threads_; }
  Status status() const override { return status_; }

  void start(program::CallId call, std::uint64_t tag, SimTime at) override {
    if (!live_ && status_.ok()) status_ = go_live();
    if (!status_.ok()) return;
    const Call& c = calls_[index(call)];
    last_news_ = std::max(last_news_, at.since_start().in_ps());
    if (c.flows.flows.empty()) {
      later_.emplace(std::pair(at + c.launch, sequence_++), tag);
      return;
    }
    if (list_.flows.size() + c.flows.flows.size() > kMostFlows) {
      status_ = Error{
          ErrorCode::kUnsupported, fmt::format("more than {} moves in one program; use --engine flow", kMostFlows), {}};
      return;
    }
    for (program::ListedFlow f : c.flows.flows) {
      f.start = at + f.start.since_start();
      list_.flows.push_back(f);
    }
    routes_.insert(routes_.end(), c.routes.begin(), c.routes.end());
    blocks_.push_back({tag, at, c.slowdown});
    live_->traffic.add(c.flows.after, c.successors);
    live_->threads.add_block(static_cast<std::uint32_t>(c.flows.flows.size()));
  }

  std::optional<engine::Finished> advance(SimTime limit) override {
    if (!live_ || !status_.ok()) return std::nullopt;
    const SimTime soon = later_.empty() ? limit : std::min(limit, later_.begin()->first.first);
    Ps until = soon.since_start().in_ps();
    for (auto why = PartThreads::Why::kReached; why == PartThreads::Why::kReached;) {
      if (const auto ended = live_->threads.take_ended(until)) {
        last_end_ = ended->at;
        const Block& block = blocks_[ended->block];
        const SimTime end = SimTime::at(Duration::ps(ended->at));
        if (block.slowdown == 1) return engine::Finished{block.tag, end};
        later_.emplace(std::pair(slowed(block, end), sequence_++), block.tag);
        until = std::min(limit, later_.begin()->first.first).since_start().in_ps();
        continue;
      }
      why = live_->threads.run(PartThreads::Until::kBlockEnded, until);
      if (live_->threads.sum().silences != seen_silences_) look_for_silence();
      if (packets_.stop != nullptr && *packets_.stop != 0) status_ = interrupted();
      if (!status_.ok()) return std::nullopt;
    }
    if (later_.empty() || later_.begin()->first.first > limit) return std::nullopt;
    const engine::Finished done{later_.begin()->second, later_.begin()->first.first};
    later_.erase(later_.begin());
    return done;
  }

  std::vector<double> link_bytes() const override {
    std::vector<double> bytes(router_.topology().link_count(), 0.0);
    if (!live_) return bytes;
    let_all_arrive();
    for (const RunningPart* part : live_->threads.parts())
      for (std::uint32_t w = 0; w < wiring_.wires().size(); ++w)
        if (!wiring_.wires()[w].joint)
          bytes[index(wiring_.wires()[w].link)] += static_cast<double>(part->network.ports()[w].sent_bytes);
    return bytes;
  }

 private:
  struct Call {
    program::FlowList flows;
    Csr<std::uint32_t> successors;
    std::vector<std::uint32_t> routes;
    double hops = 0, slowdown = 1;
    Duration launch;
  };
  struct Block {  ///< a call that was started
    std::uint64_t tag;
    SimTime start;
    double slowdown;
  };
  static constexpr std::uint32_t kMostFlows = 1u << 22;
  static constexpr Ps kStillTimeouts = 100;  ///< after so many silent timeouts it looks for a cycle

  static SimTime slowed(const Block& b, SimTime end) {
    return b.start + duration_from_ps(static_cast<double>((end - b.start).in_ps()) * b.slowdown);
  }

  Status go_live() {
    if (!packets_.faults.empty()) wiring_.add_all_cables();
    wiring_.seal();
    std::vector<std::uint32_t> all;
    for (const Call& c : calls_) all.insert(all.end(), c.routes.begin(), c.routes.end());
    const HostSettings shape = shape_of(packets_);
    if (packets_.cut_through) wiring_.cut_through(shape.header);
    BUSBAR_ASSIGN(Profile p,
                  profile_for(wiring_, packets_, scale_of(wiring_, all, shape.payload + shape.header, shape.header)));
    const NetworkSplit split = packets_.threads == 1 ? NetworkSplit{} : split_for_calls(all);
    threads_ = split.parts;
    live_ = std::make_unique<Live>(wiring_, p, list_, routes_, split, packets_);
    return {};
  }

  /// A call that starts because another ended sends its first byte a launch later. So no window may be longer.
  NetworkSplit split_for_calls(const std::vector<std::uint32_t>& routes) const {
    Duration least = protocol_.launch;
    for (const Call& c : calls_) least = std::min(least, c.launch);
    if (least <= Duration()) return {};
    program::FlowList all;
    double hops = 0;
    for (const Call& c : calls_) {
      const auto first = static_cast<std::uint32_t>(all.flows.size());
      all.flows.insert(all.flows.end(), c.flows.flows.begin(), c.flows.flows.end());
      for (std::uint32_t f = 0; f < c.flows.flows.size(); ++f) {
        for (const std::uint32_t before : c.flows.after.row(f)) all.after.values.push_back(first + before);
        all.after.close_row();
      }
      hops += c.hops;
    }
    NetworkSplit split = packets_.threads == 0 ? split_where_it_pays(wiring_, all, routes, hops)
                                               : split_network(wiring_, all, routes, packets_.threads);
    split.lookahead = std::min(split.lookahead, least.in_ps());
    return split.parts > 1 ? split : NetworkSplit{};
  }

  /// After the last call: what flows still owe each other. So counts do not depend on how far each part has run.
  void let_all_arrive() const {
    if (!status_.ok()) return;
    const Ps patience = kStillTimeouts * live_->profile.hosts.timeout;
    live_->threads.run(PartThreads::Until::kAllEnded, last_end_ + patience);
  }

  /// A timer found a silent flow: checks whether anything still arrives.
  void look_for_silence() {
    const PartWord& sum = live_->threads.sum();
    seen_silences_ = sum.silences;
    if (sum.delivered != seen_delivered_) last_news_ = sum.now;
    seen_delivered_ = sum.delivered;
    if (sum.now - last_news_ <= kStillTimeouts * live_->profile.hosts.timeout || sum.changes) return;
    status_ = threads_ == 1 ? standstill(*live_->threads.parts().front(), sum.now)
                            : Error{ErrorCode::kUnsupported,
                                    fmt::format("after {:.3f} us no packet has arrived for many timeouts; run it with "
                                                "--threads 1, which says why",
                                                static_cast<double>(sum.now) * 1e-6),
                                    {}};
  }

  const routing::Router& router_;
  const routing::Placement& placement_;
  const program::ProtocolModel protocol_;
  const PacketOptions packets_;
  std::unique_ptr<engine::Engine> closed_;
  Wiring wiring_;
  std::vector<Call> calls_;
  program::FlowList list_;  ///< everything started so far; `after` stays empty, blocks bring their own
  std::vector<std::uint32_t> routes_;
  std::vector<Block> blocks_;
  std::unique_ptr<Live> live_;
  Status status_;
  /// Ends of calls without moves, and of slowed ones whose last packet has arrived: their tags.
  std::map<std::pair<SimTime, std::uint64_t>, std::uint64_t> later_;
  std::uint64_t sequence_ = 0, seen_silences_ = 0, seen_delivered_ = 0;
  Ps last_news_ = 0, last_end_ = 0;
  std::uint32_t threads_ = 1;
};

class Chooser final : public engine::Engine {
 public:
  Chooser(const routing::Router& router, const routing::Placement& placement, const engine::EngineOptions& options)
      : router_(router), placement_(placement), closed_(engine::make_analytic_engine(router, placement, options)) {}

  Result<program::CallId> prepare(const program::CollectiveCall& call) override {
    BUSBAR_RETURN_IF_ERROR(packets_can_run(call, router_, placement_));
    return closed_->prepare(call);
  }
  Shortcuts shortcuts() const override { return closed_->shortcuts(); }
  Duration time_alone(program::CallId call) const override { return closed_->time_alone(call); }
  lowering::Bound bound_by(program::CallId call) const override { return closed_->bound_by(call); }
  const lowering::LoweredCall* lowered(program::CallId call) const override { return closed_->lowered(call); }
  void start(program::CallId call, std::uint64_t tag, SimTime at) override { closed_->start(call, tag, at); }
  std::optional<engine::Finished> advance(SimTime limit) override { return closed_->advance(limit); }
  std::vector<double> link_bytes() const override { return closed_->link_bytes(); }

 private:
  const routing::Router& router_;
  const routing::Placement& placement_;
  std::unique_ptr<engine::Engine> closed_;
};

}  // namespace

std::unique_ptr<engine::Engine> make_packet_chooser(const routing::Router& router, const routing::Placement& placement,
                                                    engine::EngineOptions options) {
  return std::make_unique<packet::Chooser>(router, placement, options);
}

std::unique_ptr<PacketEngine> make_packet_engine(const routing::Router& router, const routing::Placement& placement,
                                                 engine::EngineOptions options, PacketOptions packets) {
  return std::make_unique<packet::OnlinePackets>(router, placement, options, std::move(packets));
}

Status check_packet_program(PacketEngine& engine, const program::Program& program, double patience_s) {
  std::vector<double> hops;
  for (const program::CollectiveCall& call : program.calls) {
    BUSBAR_ASSIGN(const program::CallId id, engine.prepare(call));
    hops.push_back(engine.hops(id));
  }
  double all = 0;
  const auto add = [&](const std::vector<program::Op>& ops) {
    for (const program::Op& op : ops)
      if (op.kind == program::OpKind::kCollective) all += hops[index(op.call)];
  };
  add(program.ops);
  for (const program::PassUse& use : program.uses) add(program.passes[use.pass].ops);
  return packet::check_patience(all, patience_s);
}

}  // namespace busbar::packet
