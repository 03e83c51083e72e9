#include "busbar/lowering/internal/many_pairs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "busbar/lowering/internal/twins.h"
#include "busbar/lowering/send_costs.h"

namespace busbar::lowering {

bool has_many_pairs(const PlacedMachine& machine, const PlannedCall& plan, std::size_t step) {
  if (plan.call.nics != nullptr) return false;  // no library chooses NICs for so many pairs
  double pairs = 0;
  std::uint64_t chunks = 0;
  for (const std::vector<collectives::PhaseRun>& channel_runs : plan.runs) {
    if (step >= channel_runs.size()) continue;
    const collectives::Phase& phase = plan.first_phase(channel_runs[step]);
    const collectives::GroupFamily& family = plan.family(channel_runs[step]);
    const std::uint64_t each = phase.pattern == collectives::Pattern::kPairwiseAllToAll
                                   ? 0
                                   : collectives::chunks_per_pair(plan.schedule, phase);
    if (each == 0 || (chunks != 0 && chunks != each)) return false;
    chunks = each;
    pairs += 1.0 * plan.call.groups.groups() * family.groups() * family.size() * (family.size() - 1.0);
  }
  return pairs > static_cast<double>(machine.shortcuts.pairs_apart) &&
         machine.shortcuts.take(Shortcut::kPairsAsOneFluid);
}

namespace {

/// The times of pairs that are taken together.
struct PairTimes {
  double latest_ps = 0;  ///< largest latency
  double alone_ps = 0;   ///< longest time of one alone, where messages are held up
};

/// The exchange of one group.
class GroupExchange {
 public:
  GroupExchange(const PairTools& tools, const PlannedCall& plan, const GroupRun& of, double bytes, OpenRun& run)
      : tools_(tools), machine_(tools.machine), plan_(plan), of_(of), bytes_(bytes), run_(run) {
    const collectives::GroupFamily& family = plan.family(of.phases);
    for (std::uint32_t m = 0; m < family.size(); ++m) {
      actors_.push_back(family.actor(of.group, m));
      by_block_[block(actors_[m])].push_back(actors_[m]);
    }
  }

  /// Puts the loads of all pairs on the open run.
  Result<PairTimes> load_all() {
    constexpr std::uint64_t kMostRouted = 1 << 22;  // some seconds
    const std::uint64_t routes = std::uint64_t{actors_.size()} * actors_.size();
    bool spread = by_block_.size() == 1;
    if (!spread) {
      BUSBAR_ASSIGN(spread, load_between_blocks());
    }
    if (!spread && routes > kMostRouted)
      return unsupported(
          fmt::format("{} over {} ranks is {} routes that are not alike; choose another algorithm, such as bruck",
                      collectives::name_of(plan_.first_phase(of_.phases).pattern), actors_.size(), routes));
    for (const auto& [block, own] : by_block_) {
      if (by_block_.size() == 1 || spread) {
        BUSBAR_ASSIGN(const bool alike, load_twins(own));
        if (alike) continue;
      }
      for (const std::uint32_t a : own)
        for (const std::uint32_t b : spread ? own : actors_)
          if (a != b) BUSBAR_RETURN_IF_ERROR(load_pair(a, b));
    }
    return times_;
  }

 private:
  topology::DeviceId gpu(std::uint32_t actor) const {
    return machine_.placement.gpu(plan_.call.groups.actor(of_.call_group, actor));
  }
  topology::BlockId block(std::uint32_t actor) const { return machine_.topology().block_of(gpu(actor)); }
  /// How many pairs an actor has with members in other blocks.
  double pairs_outside(std::uint32_t actor) const {
    return static_cast<double>(actors_.size() - by_block_.at(block(actor)).size());
  }

  /// One pair, routed by itself.
  Status load_pair(std::uint32_t from, std::uint32_t to) {
    run_.clear_routes();
    BUSBAR_RETURN_IF_ERROR(tools_.router.connect(of_.call_group, from, to, bytes_, 1, run_));
    times_.latest_ps = std::max(times_.latest_ps, run_.connections[0].latency_ps);
    if (!machine_.table.holds()) return {};
    tools_.times.time_round(run_, 0, 1, false);
    times_.alone_ps = std::max(times_.alone_ps, run_.connections[0].transfer_ps + tools_.times.held_ps(run_, 1));
    return {};
  }

  /// All pairs of the members `own` of one block, by classes of twins. False, with nothing loaded: there are none.
  Result<bool> load_twins(std::span<const std::uint32_t> own) {
    constexpr std::size_t kFewTwins = 4;  // members of a class in the mean; below, classes save little
    if (machine_.table.holds() || !machine_.shortcuts.has(Shortcut::kPairClasses)) return false;
    std::vector<topology::DeviceId> gpus;
    for (const std::uint32_t a : own) gpus.push_back(gpu(a));
    const Twins twins(machine_.topology(), gpus);
    if (own.size() < kFewTwins * twins.classes().size()) return false;
    std::vector<TwinWay> ways;
    for (const Twins::Class& from : twins.classes())
      for (const Twins::Class& to : twins.classes()) {
        if (&from == &to && from.members.size() == 1) continue;
        BUSBAR_ASSIGN(std::optional<TwinWay> way, way_between(twins, gpus, own, from, to));
        if (!way) return false;
        ways.push_back(*std::move(way));
      }
    for (const TwinWay& way : ways) load_way(twins, gpus, way);
    machine_.shortcuts.take(Shortcut::kPairClasses);
    return true;
  }

  /// What a pair of two classes crosses.
  struct TwinWay {
    struct Own {
      std::size_t place;  ///< of the member's links
      double share;
    };
    const Twins::Class *from, *to;
    double latency_ps = 0;
    std::vector<Own> out{}, in{};                  ///< links of the sender; of the receiver, which lead to it
    double sender_limit = 0, receiver_limit = 0;   ///< shares of their own limits
    std::vector<routing::CapacityShare> others{};  ///< that all pairs share
  };

  /// Of the first pair. None: it crosses other GPUs, or links of its GPUs that lead to no switch of the twins.
  Result<std::optional<TwinWay>> way_between(const Twins& twins, std::span<const topology::DeviceId> gpus,
                                             std::span<const std::uint32_t> own, const Twins::Class& from,
                                             const Twins::Class& to) {
    const topology::Topology& t = machine_.topology();
    const std::uint32_t a = from.members[0], b = &from == &to ? to.members[1] : to.members[0];
    run_.clear_routes();
    BUSBAR_ASSIGN(const double latency_ps, tools_.router.way(of_.call_group, own[a], own[b], run_.path));
    TwinWay way{&from, &to, latency_ps};
    for (const routing::CapacityShare& s : run_.path) {
      if (s.on.is_device() && s.on.device() == gpus[a]) {
        way.sender_limit += s.share;
      } else if (s.on.is_device() && s.on.device() == gpus[b]) {
        way.receiver_limit += s.share;
      } else if (s.on.is_link() && t.from(s.on.link()) == gpus[a] && twins.place(a, s.on.link())) {
        way.out.push_back({*twins.place(a, s.on.link()), s.share});
      } else if (s.on.is_link() && t.to(s.on.link()) == gpus[b] && twins.place(b, topology::reverse(s.on.link()))) {
        way.in.push_back({*twins.place(b, topology::reverse(s.on.link())), s.share});
      } else if (s.on.is_link() && (is_gpu(t.from(s.on.link())) || is_gpu(t.to(s.on.link())))) {
        return std::optional<TwinWay>();
      } else {
        way.others.push_back(s);
      }
    }
    return std::optional(std::move(way));
  }
  bool is_gpu(topology::DeviceId d) const { return machine_.topology().kind(d) == topology::DeviceKind::kGpu; }

  void load_way(const Twins& twins, std::span<const topology::DeviceId> gpus, const TwinWay& way) {
    const double self = way.from == way.to ? 1 : 0, senders = static_cast<double>(way.from->members.size()),
                 receivers = static_cast<double>(way.to->members.size());
    times_.latest_ps = std::max(times_.latest_ps, way.latency_ps);
    for (const routing::CapacityShare& s : way.others)
      load(s.on, s.share * senders * (receivers - self), way.latency_ps);
    for (const std::uint32_t m : way.from->members) {
      for (const TwinWay::Own& o : way.out) load(twins.link(m, o.place), o.share * (receivers - self), way.latency_ps);
      if (way.sender_limit > 0)
        load(routing::CapacityId::limit_of(gpus[m]), way.sender_limit * (receivers - self), way.latency_ps);
    }
    for (const std::uint32_t m : way.to->members) {
      for (const TwinWay::Own& o : way.in)
        load(topology::reverse(twins.link(m, o.place)), o.share * (senders - self), way.latency_ps);
      if (way.receiver_limit > 0)
        load(routing::CapacityId::limit_of(gpus[m]), way.receiver_limit * (senders - self), way.latency_ps);
    }
  }

  /// `pairs` pairs cross `on`.
  void load(routing::CapacityId on, double pairs, double least_ps) {
    run_.loads.add(on, pairs * bytes_ * plan_.sent.straight);
    tools_.builder.cross(on, least_ps);
  }
  /// The same, and the limit of the device that a link leads to.
  void load_with_limit(routing::CapacityId on, double pairs, double least_ps) {
    load(on, pairs, least_ps);
    if (!on.is_link()) return;
    const topology::Topology& t = machine_.topology();
    const topology::DeviceId d = t.to(on.link());
    if (machine_.table.limited(d) && t.kind(d) != topology::DeviceKind::kGpu && !t.device_class(d).reduces)
      load(routing::CapacityId::limit_of(d), pairs, least_ps);
  }

  Status route_in_server(topology::DeviceId from, topology::DeviceId to) {
    run_.path.clear();
    return tools_.router.routes().inside(from, to, run_.path);
  }
  /// Where the payload of each member leaves its server; `staged`: how many stage it in host memory.
  Result<routing::PairEnds> ends(std::size_t& staged) {
    SendRoutes& routes = tools_.router.routes();
    routing::PairEnds out;
    out.lane = tools_.router.settings().nics;
    for (const std::uint32_t actor : actors_) {
      const topology::DeviceId at = gpu(actor),
                               host = machine_.protocol.gpudirect ? kNone<topology::DeviceId> : routes.host_memory(at);
      double before_ps = 0, after_ps = 0;
      if (host != kNone<topology::DeviceId>) {
        ++staged;
        BUSBAR_RETURN_IF_ERROR(route_in_server(at, host));
        before_ps = routes.latency_ps(run_.path, 0, 1);
        BUSBAR_RETURN_IF_ERROR(route_in_server(host, at));
        after_ps = routes.latency_ps(run_.path, 0, 1);
      }
      out.gpu.push_back(at);
      out.at.push_back(host == kNone<topology::DeviceId> ? at : host);
      out.before_ps.push_back(before_ps);
      out.after_ps.push_back(after_ps);
      const std::uint32_t rank = plan_.call.groups.actor(of_.call_group, actor);
      for (const std::uint32_t nic : out.lane) out.nic.push_back(machine_.placement.nic(rank, nic));
    }
    return out;
  }

  /// All pairs in different blocks, by classes of members. False: they are to be routed one by one.
  Result<bool> load_between_blocks() {
    const Shortcuts& shortcuts = machine_.shortcuts;
    const bool hashed = machine_.router.policy() == topology::RoutingPolicy::kStatic;
    const Shortcut shortcut = hashed ? Shortcut::kHashedPairs : Shortcut::kPairClasses;
    if (machine_.table.holds() || !shortcuts.has(shortcut)) return false;
    std::size_t staged = 0;
    BUSBAR_ASSIGN(const routing::PairEnds pair_ends, ends(staged));
    if (staged != 0 && staged != actors_.size()) return false;
    BUSBAR_ASSIGN(
        const routing::PairLoads* const loads,
        tools_.spread.between_blocks(pair_ends, machine_.table.class_latency_ps(), machine_.table.bundles() != nullptr,
                                     *tools_.router.settings().bias, machine_.stop));
    if (loads == nullptr) return false;
    shortcuts.take(shortcut);
    const double turn_ps = tools_.router.turn_ps(bytes_),
                 overhead_ps = turn_ps + static_cast<double>(
                                             costs_of(machine_.protocol, plan_.call.protocol).step_network.in_ps());
    double most_pairs = 1;
    for (const std::uint32_t actor : actors_) most_pairs = std::max(most_pairs, pairs_outside(actor));
    times_.latest_ps = std::max(times_.latest_ps, loads->latest_ps + overhead_ps + (most_pairs - 1) * turn_ps);
    const SendRoutes& routes = tools_.router.routes();
    for (const routing::PairLoads::At& l : loads->on)
      load_with_limit(staged == 0 ? l.on : routes.memory_bus(l.on), l.pairs, l.least_ps + overhead_ps);
    for (std::size_t m = 0; m < actors_.size(); ++m)
      if (machine_.table.limited(pair_ends.gpu[m]))
        load(routing::CapacityId::limit_of(pair_ends.gpu[m]),
             pairs_outside(actors_[m]) * (1 + tools_.router.settings().arrival_cost),
             std::min(loads->least_out_ps[m], loads->least_in_ps[m]) + overhead_ps);
    for (std::size_t m = 0; m < actors_.size() && staged != 0; ++m) {
      const topology::DeviceId at = pair_ends.gpu[m], host = pair_ends.at[m];
      BUSBAR_RETURN_IF_ERROR(load_staging(m, at, host, loads->least_out_ps[m] + overhead_ps));
      BUSBAR_RETURN_IF_ERROR(load_staging(m, host, at, loads->least_in_ps[m] + overhead_ps));
    }
    return true;
  }
  /// All that member `m` sends or receives, between its GPU and host memory.
  Status load_staging(std::size_t m, topology::DeviceId from, topology::DeviceId to, double least_ps) {
    BUSBAR_RETURN_IF_ERROR(route_in_server(from, to));
    const double pairs = pairs_outside(actors_[m]);
    for (const routing::CapacityShare& l : run_.path)
      if (pairs > 0) load_with_limit(tools_.router.routes().memory_bus(l.on), pairs * l.share, least_ps);
    return {};
  }

  const PairTools& tools_;
  const PlacedMachine& machine_;
  const PlannedCall& plan_;
  const GroupRun of_;
  const double bytes_;  ///< of each pair
  OpenRun& run_;
  std::vector<std::uint32_t> actors_{};
  std::map<topology::BlockId, std::vector<std::uint32_t>> by_block_{};
  PairTimes times_{};
};

}  // namespace

Status lower_pairs_together(const PairTools& tools, const PlannedCall& plan, const GroupRun& of, OpenRun& run) {
  const double bytes = static_cast<double>(collectives::chunks_per_pair(plan.schedule, plan.first_phase(of.phases))) *
                       plan.chunk_bytes();
  if (bytes == 0) return {};
  tools.router.begin_run({of.phases.begin, of.phases.begin + 1});
  BUSBAR_ASSIGN(const PairTimes times, GroupExchange(tools, plan, of, bytes, run).load_all());
  Stage& stage = tools.builder.stage;
  const double turns = 2 * (static_cast<double>(plan.family(of.phases).size()) - 2);
  stage.latency_ps = std::max(
      stage.latency_ps, times.latest_ps + turns * static_cast<double>(tools.machine.protocol.per_message.in_ps()));
  const double alone_ps = std::max(times.alone_ps, tools.times.capped_ps(bytes));
  tools.builder.emit_free(run.loads, bytes, tools.times.longest_load_ps(run, alone_ps));
  return {};
}

}  // namespace busbar::lowering
