#include "busbar/step/network_sample.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "busbar/base/id.h"
#include "busbar/collectives/edges.h"
#include "busbar/lowering/crossings.h"
#include "busbar/lowering/send_costs.h"
#include "busbar/packet/collective_flows.h"

namespace busbar::step {
namespace {

using topology::DeviceId;

// A run of the packet engine should take about half a second: 1 GB are 250,000 full packets. More bytes per connection
// than 16 MB change little: by then rates have settled.
constexpr double kMostBytes = 1e9, kMostOfConnection = 16e6;
constexpr std::size_t kEnoughConnections = 64;  // a further leaf joins the sample until then
constexpr std::uint32_t kMostLeaves = 8;
constexpr std::size_t kMostConnections = 16'384;  // of more, such as of large all-to-alls, every n-th is sent

/// The leaf of each NIC, and the leaves that each server reaches.
class Leaves {
 public:
  explicit Leaves(const topology::Topology& t) : of_nic_(t.device_count(), kNone<DeviceId>) {
    for (const DeviceId s : t.fabric_switches())
      for (const topology::LinkId l : t.out_links(s))
        if (t.kind(t.to(l)) == topology::DeviceKind::kNic && of_nic_[index(t.to(l))] == kNone<DeviceId>)
          add(t.to(l), s);
  }
  DeviceId of(DeviceId nic) const { return of_nic_[index(nic)]; }
  std::uint32_t count() const { return count_; }
  /// Marks the servers with a NIC on one of `leaves`, by block.
  std::vector<bool> servers_on(const topology::Topology& t, std::span<const DeviceId> leaves) const {
    std::vector<bool> out(t.blocks().size(), false);
    for (std::uint32_t d = 0; d < of_nic_.size(); ++d)
      if (of_nic_[d] != kNone<DeviceId> && std::find(leaves.begin(), leaves.end(), of_nic_[d]) != leaves.end())
        out[index(t.block_of(static_cast<DeviceId>(d)))] = true;
    return out;
  }

 private:
  void add(DeviceId nic, DeviceId leaf) {
    of_nic_[index(nic)] = leaf;
    if (last_ != leaf) ++count_;  // links leave one switch after another
    last_ = leaf;
  }
  std::vector<DeviceId> of_nic_;  ///< by device
  DeviceId last_ = kNone<DeviceId>;
  std::uint32_t count_ = 0;
};

struct Connection {
  DeviceId from{}, to{};
  std::uint64_t bytes = 0;
};

/// What the groups of a call send each other over NICs.
class Connections {
 public:
  Connections(const predict::Predictor& machine, const program::CollectiveCall& part, const collectives::Schedule& s)
      : router_(machine.router()), placement_(machine.placement()), part_(part) {
    count_edges(s);
  }

  /// Calls f(Connection) for all from or to the servers marked.
  template <typename F>
  void for_each(const std::vector<bool>& servers, F f) {
    for (std::uint32_t g = 0; g < part_.groups.groups(); ++g)
      for (const auto& [edge, bytes] : edges_) cross(servers, g, edge, bytes, f);
  }

 private:
  using Edge = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // channel, source and destination in a group

  void count_edges(const collectives::Schedule& s) {
    const double chunk = static_cast<double>(count(part_.bytes)) / s.chunks_per_buffer();
    const std::uint32_t per_order = std::max(1u, s.traits.channels_per_order);
    for (const collectives::Phase& phase : s.phases)
      for (std::uint32_t g = 0; g < s.families[phase.family].groups() && !collectives::uses_hub(phase.pattern); ++g)
        collectives::for_each_edge(s, phase, g, [&](std::uint32_t a, std::uint32_t b, std::uint64_t chunks) {
          if (a < s.ranks && b < s.ranks)
            edges_[{phase.channel / per_order, a, b}] += chunk * static_cast<double>(chunks);
        });
  }

  template <typename F>
  void cross(const std::vector<bool>& servers, std::uint32_t group, const Edge& edge, double bytes, F f) {
    const topology::Topology& t = router_.topology();
    const auto [channel, src, dst] = edge;
    const std::uint32_t a = part_.groups.actor(group, src), b = part_.groups.actor(group, dst);
    const topology::BlockId from = t.block_of(placement_.gpu(a)), to = t.block_of(placement_.gpu(b));
    if (from == to || (!servers[index(from)] && !servers[index(to)])) return;
    ways_.assign(1, {placement_.gpu(a), placement_.nic(a, channel), placement_.nic(b, channel)});
    lowering::find_crossings(router_, placement_, part_.nics.get(), a, b, channel, ways_);
    for (const lowering::Crossing& way : ways_)
      f(Connection{way.nic_from, way.nic_to,
                   static_cast<std::uint64_t>(bytes / static_cast<double>(ways_.size())) + 1});
  }

  const routing::Router& router_;
  const routing::Placement& placement_;
  const program::CollectiveCall& part_;
  std::map<Edge, double> edges_;
  std::vector<lowering::Crossing> ways_;
};

/// The calls of a purpose that cross servers: of calls over the same groups the one that takes most time.
std::vector<const program::CollectiveCall*> calls_of(const TrainRun& run, program::OpClass purpose) {
  std::vector<CallUse> uses = run.step.calls;
  std::stable_sort(uses.begin(), uses.end(), [](const CallUse& a, const CallUse& b) { return a.total > b.total; });
  std::vector<const program::CollectiveCall*> out;
  for (const CallUse& u : uses) {
    const program::CollectiveCall& call = run.program.calls[index(u.call)];
    if (u.cls != purpose || !run.machine->several_nodes(call.groups)) continue;
    const auto same = [&](const program::CollectiveCall* other) { return other->groups == call.groups; };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back(&call);
  }
  return out;
}

/// Collects the connections of a purpose on leaves that join one after another.
class Sampler {
 public:
  Sampler(const predict::Predictor& machine, std::span<const program::CollectiveCall* const> calls)
      : machine_(machine), leaves_(machine.cluster().topology), calls_(calls) {}

  Result<std::optional<NetworkSample>> sample() {
    const DeviceId nic = machine_.placement().nic(0, 0);
    if (calls_.empty() || nic == kNone<DeviceId> || leaves_.of(nic) == kNone<DeviceId>)
      return std::optional<NetworkSample>();
    BUSBAR_RETURN_IF_ERROR(connect());
    chosen_ = {leaves_.of(nic)};
    collect();
    while (!neighbours_.empty() && crossing_ < kEnoughConnections && chosen_.size() < kMostLeaves) {
      const auto most = std::max_element(neighbours_.begin(), neighbours_.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      chosen_.push_back(most->first);
      collect();
    }
    if (taken_.empty()) return std::optional<NetworkSample>();
    take_those_that_meet();
    return std::optional(as_flows());
  }

 private:
  bool is_chosen(DeviceId leaf) const { return std::find(chosen_.begin(), chosen_.end(), leaf) != chosen_.end(); }

  Status connect() {
    for (const program::CollectiveCall* call : calls_)
      for (const program::CollectiveCall& part : program::parts_of(*call)) {
        BUSBAR_ASSIGN(const collectives::Schedule s,
                      packet::schedule_of(part, machine_.cluster().topology, machine_.placement()));
        all_.emplace_back(machine_, part, s);
      }
    return {};
  }

  /// The connections of the chosen leaves, and how many of them each other leaf has.
  void collect() {
    taken_.clear();
    neighbours_.clear();
    crossing_ = 0;
    const std::vector<bool> servers = leaves_.servers_on(machine_.cluster().topology, chosen_);
    for (Connections& one : all_) one.for_each(servers, [&](const Connection& c) { take(c); });
  }

  void take(const Connection& c) {
    const DeviceId from = leaves_.of(c.from), to = leaves_.of(c.to);
    if (from == kNone<DeviceId> || to == kNone<DeviceId>) return;
    const bool near = is_chosen(from), far = is_chosen(to);
    if (!near && !far) return;
    taken_.push_back(c);
    if (from != to) ++crossing_;
    if (near && !far) ++neighbours_[to];
  }

  /// Leaves out connections inside a leaf that share no NIC with one between leaves, and thins out very many.
  void take_those_that_meet() {
    std::set<DeviceId> senders, receivers;
    for (const Connection& c : taken_)
      if (leaves_.of(c.from) != leaves_.of(c.to)) senders.insert(c.from), receivers.insert(c.to);
    if (crossing_ > 0)
      std::erase_if(taken_,
                    [&](const Connection& c) { return !senders.contains(c.from) && !receivers.contains(c.to); });
    const std::size_t step = (taken_.size() + kMostConnections - 1) / kMostConnections;
    std::size_t at = 0;
    std::erase_if(taken_, [&](const Connection&) { return at++ % step != 0; });
  }

  NetworkSample as_flows() const {
    NetworkSample out;
    out.leaves = static_cast<std::uint32_t>(chosen_.size());
    out.leaves_of_machine = leaves_.count();
    const program::ProtocolModel& protocol = machine_.protocol();
    out.flows.reach = {protocol.gpudirect, protocol.peer_access};
    out.flows.shares = lowering::rate_shares(protocol);
    const double scale = scale_of_bytes();
    for (const Connection& c : taken_) {
      if (leaves_.of(c.from) != leaves_.of(c.to)) ++out.crossing;
      program::ListedFlow f;
      f.from = f.nic_from = c.from;
      f.to = f.nic_to = c.to;
      f.bytes = Bytes{std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(c.bytes) * scale))};
      out.flows.flows.push_back(f);
      out.flows.after.close_row();
    }
    return out;
  }

  double scale_of_bytes() const {
    double sum = 0, most = 1;
    for (const Connection& c : taken_) {
      sum += static_cast<double>(c.bytes);
      most = std::max(most, static_cast<double>(c.bytes));
    }
    return std::min({1.0, kMostBytes / sum, kMostOfConnection / most});
  }

  const predict::Predictor& machine_;
  const Leaves leaves_;
  std::span<const program::CollectiveCall* const> calls_;
  std::vector<Connections> all_;  ///< of the calls' parts
  std::vector<DeviceId> chosen_;
  std::vector<Connection> taken_;
  std::uint32_t crossing_ = 0;
  std::map<DeviceId, std::uint32_t> neighbours_;
};

}  // namespace

Result<std::optional<NetworkSample>> network_sample(const predict::Predictor& machine,
                                                    std::span<const program::CollectiveCall* const> calls) {
  return Sampler(machine, calls).sample();
}

Result<std::vector<NetworkSample>> network_samples(const TrainRun& run) {
  std::vector<NetworkSample> out;
  for (const program::OpClass purpose : {program::OpClass::kTp, program::OpClass::kDp, program::OpClass::kPp,
                                         program::OpClass::kCp, program::OpClass::kEp}) {
    BUSBAR_ASSIGN(std::optional<NetworkSample> sample, network_sample(*run.machine, calls_of(run, purpose)));
    if (!sample) continue;
    sample->purpose = purpose;
    out.push_back(std::move(*sample));
  }
  return out;
}

}  // namespace busbar::step
