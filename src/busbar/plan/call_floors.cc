#include "busbar/plan/call_floors.h"

#include <algorithm>
#include <limits>

#include "busbar/base/id.h"
#include "busbar/floors/cut_demand.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/send_costs.h"
#include "busbar/plan/step_bound.h"

namespace busbar::plan {
namespace {

double time_over(double bytes, double rate) { return bytes > 0 && rate > 0 ? bytes / rate : 0; }

std::vector<std::uint32_t> key_of(const program::CollectiveCall& c) {
  std::vector<std::uint32_t> key{static_cast<std::uint32_t>(c.op), c.groups.base,
                                 static_cast<std::uint32_t>(c.groups.outer.size())};
  for (const auto* axes : {&c.groups.outer, &c.groups.inner})
    for (const collectives::Axis& a : *axes) key.insert(key.end(), {a.extent, a.actor_stride});
  return key;
}

/// Members of a group in the blocks that have any.
class MembersOfBlocks {
 public:
  MembersOfBlocks(const std::vector<std::uint32_t>& block, std::size_t blocks) : block_(block), members_(blocks) {}
  /// The fewest and the most.
  std::pair<std::uint32_t, std::uint32_t> range(const collectives::GroupFamily& groups, std::uint32_t g) {
    std::fill(members_.begin(), members_.end(), 0);
    for (std::uint32_t m = 0; m < groups.size(); ++m) ++members_[block_[groups.actor(g, m)]];
    std::pair<std::uint32_t, std::uint32_t> out{groups.size(), 0};
    for (const std::uint32_t n : members_)
      if (n > 0) out = {std::min(out.first, n), std::max(out.second, n)};
    return out;
  }

 private:
  const std::vector<std::uint32_t>& block_;
  std::vector<std::uint32_t> members_;
};

/// Whether calls may run kernels for registered buffers.
bool takes_registered(const predict::Predictor& machine) {
  const predict::PredictPolicy& p = machine.policy();
  return p.registration != nccl::Registration::kNone ||
         std::any_of(p.env.begin(), p.env.end(), [](const std::string& v) { return v.starts_with("NCCL_SYM_"); });
}

/// Of all kernels that a call may run.
Duration least_launch(const predict::Predictor& machine) {
  constexpr std::uint32_t kFewest = 2;  // ranks
  const program::ProtocolModel& m = machine.protocol();
  Duration least = m.launch;
  if (!takes_registered(machine)) return least;
  for (const auto p : {program::Protocol::kSymmetric, program::Protocol::kSymmetricLl, program::Protocol::kCopy})
    least = std::min(least, lowering::launch_of(m, p, kFewest));
  return least;
}

}  // namespace

CallFloors::CallFloors(predict::Predictor& machine)
    : machine_(machine),
      engine_(machine.open_engine()),
      registered_(takes_registered(machine)),
      launch_(least_launch(machine)),
      blocks_(machine.cluster().topology.blocks().size()) {
  const topology::Topology& t = machine.cluster().topology;
  const program::ProtocolModel& p = machine.protocol();
  const double share = std::max({p.share_scale_up, p.share_server, p.share_network, p.share_switch,
                                 registered_ ? 1.0 : 0.0});  // copy engines reach the payload rate
  std::vector<Ports> gpus(t.device_count()), near(t.device_count());
  std::vector<double> inside(blocks_.size());
  bool direct = false;  // scale-up links between two GPUs
  for (std::uint32_t l = 0; l < t.link_count(); ++l) {
    const auto link = static_cast<topology::LinkId>(l);
    const double rate = t.payload_rate(link) * share * 1e-12;
    if (rate <= 0) continue;
    const topology::DeviceId from = t.from(link), to = t.to(link);
    const topology::BlockId out = t.block_of(from), in = t.block_of(to);
    gpus[index(from)].out += rate;
    gpus[index(to)].in += rate;
    if (topology::is_scale_up(t.link_class(link).kind) && out == in) {
      direct = direct || (t.kind(to) == topology::DeviceKind::kGpu && t.kind(from) == topology::DeviceKind::kGpu);
      if (t.kind(to) != topology::DeviceKind::kGpu) near[index(from)].out += rate;
      if (t.kind(from) != topology::DeviceKind::kGpu) near[index(to)].in += rate;
    }
    if (out == in && out != kNone<topology::BlockId>) inside[index(out)] += rate;
    if (out == in) continue;
    if (out != kNone<topology::BlockId>) blocks_[index(out)].out += rate;
    if (in != kNone<topology::BlockId>) blocks_[index(in)].in += rate;
  }
  for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
    const topology::DeviceId d = machine.placement().gpu(rank);
    block_.push_back(index(t.block_of(d)));
    gpu_ = {std::max(gpu_.out, gpus[index(d)].out), std::max(gpu_.in, gpus[index(d)].in)};
    scale_up_ = {std::max(scale_up_.out, near[index(d)].out), std::max(scale_up_.in, near[index(d)].in)};
  }
  for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank)  // a GPU without such a port goes other ways
    if (direct || near[index(machine.placement().gpu(rank))].out <= 0) scale_up_ = {};
  std::vector<std::uint32_t> gpus_of(blocks_.size());
  for (const std::uint32_t b : block_) block_gpus_ = std::max(block_gpus_, ++gpus_of[b]);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const bool same_rates =
        blocks_[b].out == blocks_[0].out && blocks_[b].in == blocks_[0].in && inside[b] == inside[0];
    equal_blocks_ = equal_blocks_ && (gpus_of[b] == 0 || (gpus_of[b] == block_gpus_ && same_rates));
    fastest_block_ = {std::max(fastest_block_.out, blocks_[b].out), std::max(fastest_block_.in, blocks_[b].in)};
  }
  for (std::uint32_t d = 0; d < t.device_count(); ++d)
    reduces_ = reduces_ || t.device_class(static_cast<topology::DeviceId>(d)).reduces;
}

Duration CallFloors::of(const program::CollectiveCall& call) {
  if (!call.groups.listed.empty()) return launch_;
  const auto [at, fresh] = known_.try_emplace(key_of(call), 0);
  if (fresh) at->second = reaches_memory(call.groups) ? copy_ps_per_byte(call) : ps_per_byte(call);
  const Duration by_cuts = launch_ + duration_from_ps(at->second * static_cast<double>(count(call.bytes)));
  const bool in_blocks = fills_blocks(call.groups) || fill_blocks_together(call.groups);
  const Duration alone = in_blocks ? std::max(by_cuts, by_schedule(call.op, call.bytes, call.groups.size())) : by_cuts;
  return duration_from_ps(static_cast<double>(alone.in_ps()) * call.slowdown);
}

Duration CallFloors::send(const program::CollectiveCall& call) {
  const auto [at, fresh] = sends_.try_emplace({key_of(call), call.bytes}, of(call));
  if (!fresh || machine_.router().splits() || machine_.library(call.groups).empty()) return at->second;
  const Result<program::CollectiveCall> ready = machine_.prepare(call);
  if (!ready.ok()) return at->second;
  if (const Result<program::CallId> id = engine_->prepare(*ready); id.ok())
    at->second = std::max(at->second, duration_from_ps(lowering::closed_form_ps(*engine_->lowered(*id))));
  return at->second;
}

/// What a byte more adds to the closed form of copies between GPUs and their host memory, which load the same links
/// whatever their size. Stages of equal blocks have that of the first.
double CallFloors::copy_ps_per_byte(program::CollectiveCall call) {
  const double by_ports = time_over(1, std::max(gpu_.out, gpu_.in));
  const auto pairs = static_cast<std::uint32_t>(call.groups.groups()),
             memory = static_cast<std::uint32_t>(block_.size());
  if (repeats(pairs)) call.groups.base = call.groups.base < memory ? 0 : memory;
  const auto [at, fresh] = copies_.try_emplace(key_of(call), by_ports);
  if (!fresh || !has_closed_bounds(machine_)) return at->second;
  return at->second = std::max(by_ports, ps_of_one_more_byte(std::move(call)));
}

/// Of the closed form of a large call; 0: the call cannot be prepared.
double CallFloors::ps_of_one_more_byte(program::CollectiveCall call) {
  constexpr std::uint64_t kSize = 1ull << 30;
  double ps[2];
  for (int i = 0; i < 2; ++i) {
    call.bytes = Bytes{kSize << i};
    const Result<program::CollectiveCall> ready = machine_.prepare(call);
    const Result<program::CallId> id = ready.ok() ? engine_->prepare(*ready) : Result<program::CallId>(ready.error());
    if (!id.ok()) return 0;
    ps[i] = lowering::closed_form_ps(*engine_->lowered(*id));
  }
  return (ps[1] - ps[0]) * (1 - 1e-9) / kSize;
}

/// Whether the first pair is a GPU and its host memory, whose ranks follow those of the GPUs.
bool CallFloors::reaches_memory(const collectives::GroupFamily& g) const {
  return g.size() == 2 && std::max(g.actor(0, 0), g.actor(0, 1)) >= block_.size();
}

/// Whether each group is a part of a block, and one of them the first part.
bool CallFloors::fill_blocks_together(const collectives::GroupFamily& g) const {
  return equal_blocks_ && g.listed.empty() && g.inner.size() == 1 && g.inner[0].actor_stride == 1 && g.size() > 1 &&
         block_gpus_ % g.size() == 0 && g.base % block_gpus_ == 0;
}

/// Whether each group is a few neighbouring blocks.
bool CallFloors::fills_blocks(const collectives::GroupFamily& g) const {
  constexpr std::uint32_t kMost = 64;  // GPUs: each schedule takes some milliseconds
  return equal_blocks_ && g.listed.empty() && g.inner.size() == 1 && g.inner[0].actor_stride == 1 &&
         g.size() > block_gpus_ && g.size() <= kMost && g.size() % block_gpus_ == 0 && g.base % block_gpus_ == 0;
}

/// Of the first n ranks: the closed form; where routes or the choice depend on other groups, of the loads of links in
/// and next to blocks the longest at its payload rate.
Duration CallFloors::by_schedule(collectives::Collective op, Bytes bytes, std::uint32_t n) {
  const auto [at, fresh] = scheduled_.try_emplace({op, bytes, n});
  if (!fresh) return at->second;
  const Result<program::CollectiveCall> call = machine_.prepare(predict::call_over(op, bytes, n));
  if (!call.ok()) return {};
  const Result<program::CallId> id = engine_->prepare(*call);
  if (!id.ok()) return {};
  if (!machine_.router().splits() && !machine_.library(call->groups).empty()) {
    at->second = duration_from_ps(lowering::closed_form_ps(*engine_->lowered(*id)));
    return at->second;
  }
  const topology::Topology& t = machine_.cluster().topology;
  std::vector<double> load(t.link_count());
  engine_->add_bytes_of(*id, load);
  double most = 0;
  for (std::uint32_t l = 0; l < load.size(); ++l) {
    const auto link = static_cast<topology::LinkId>(l);
    const bool at_block =
        t.block_of(t.from(link)) != kNone<topology::BlockId> || t.block_of(t.to(link)) != kNone<topology::BlockId>;
    if (load[l] <= 0 || !at_block) continue;
    most = std::max(most, time_over(load[l], t.payload_rate(link) * 1e-12));
  }
  at->second = launch_ + duration_from_ps(most);
  return at->second;
}

Duration CallFloors::gather(double bytes, std::uint32_t n, bool neighbours, bool scattered, bool whole) {
  if (n < 2) return {};
  const bool inside = neighbours && equal_blocks_ && block_gpus_ % n == 0;
  const double port = inside && scale_up_.in > 0 ? std::max(scale_up_.in, scale_up_.out) : std::max(gpu_.in, gpu_.out);
  double ps = time_over(bytes * (n - 1) / n, port);
  if (n > block_gpus_)
    ps = std::max(ps, time_over(bytes * (n - block_gpus_) / n, std::max(fastest_block_.in, fastest_block_.out)));
  const Duration by_cuts = launch_ + duration_from_ps(ps);
  if (!neighbours || !(fills_blocks(collectives::one_group(n)) || (inside && (whole || scale_up_.in > 0))))
    return by_cuts;
  const Bytes all{static_cast<std::uint64_t>(bytes)};
  const Duration chosen = scattered ? std::min(by_schedule(collectives::Collective::kAllGather, all, n),
                                               by_schedule(collectives::Collective::kReduceScatter, all, n))
                                    : by_schedule(collectives::Collective::kAllReduce, all, n);
  return std::max(by_cuts, chosen);
}

/// The group with the fewest members in a block sends most of its bytes through their ports to the network.
double CallFloors::of_least_member(const program::CollectiveCall& call) {
  constexpr std::uint32_t kMost = 64;  // GPUs of a group: its pairs are routed
  const collectives::GroupFamily& all = call.groups;
  if (call.op != collectives::Collective::kAllToAll || all.size() > kMost || !has_closed_bounds(machine_)) return 0;
  MembersOfBlocks members(block_, blocks_.size());
  std::uint32_t least = kNone32, worst = 0;
  for (std::uint32_t g = 0; g < all.groups(); ++g) {
    const auto [fewest, most] = members.range(all, g);
    if (fewest == most || fewest >= least) continue;
    least = fewest;
    worst = g;
  }
  if (least == kNone32) return 0;
  program::CollectiveCall one;
  one.op = call.op;
  one.algorithm = "auto";
  one.groups.base = all.actor(worst, 0);
  one.groups.inner = all.inner;
  return ps_of_one_more_byte(std::move(one));
}

double CallFloors::ps_per_byte(const program::CollectiveCall& call) {
  if (call.groups.size() < 2) return 0;
  bool inside = true;
  for (std::uint32_t g = 0; g < call.groups.groups() && inside; ++g)
    for (std::uint32_t m = 1; m < call.groups.size() && inside; ++m)
      inside = block_[call.groups.actor(g, m)] == block_[call.groups.actor(g, 0)];
  return inside ? at_gpus(call, true) : std::max({at_gpus(call, false), at_blocks(call), of_least_member(call)});
}

double CallFloors::at_gpus(const program::CollectiveCall& call, bool inside) const {
  const Ports& p = inside && scale_up_.out > 0 ? scale_up_ : gpu_;
  const double n = call.groups.size();
  if (call.op == collectives::Collective::kSendRecv) return time_over(1, std::min(p.out, p.in));
  floors::Demand needs = floors::demand_across(call.op, 1, n);
  if (call.op == collectives::Collective::kAllReduce && !reduces_)
    needs = {2 * (n - 1) / n, 2 * (n - 1) / n};  // sum of all ports
  return std::max(time_over(needs.out, p.out), time_over(needs.in, p.in));
}

double CallFloors::at_blocks(const program::CollectiveCall& call) const {
  std::vector<Ports> bytes(blocks_.size());
  const std::uint32_t n = call.groups.size();
  const auto count_group = [&](std::uint32_t block, std::uint32_t members) {
    if (members == n) return;
    const floors::Demand needs = floors::demand_across(call.op, members, n);
    bytes[block].out += needs.out;
    bytes[block].in += needs.in;
  };
  std::vector<std::uint32_t> members(blocks_.size()), met;
  for (std::uint32_t g = 0; g < call.groups.groups(); ++g) {
    if (call.op == collectives::Collective::kSendRecv) {
      const std::uint32_t from = block_[call.groups.actor(g, 0)], to = block_[call.groups.actor(g, 1)];
      if (n != 2 || from == to) continue;
      bytes[from].out += 1;
      bytes[to].in += 1;
      continue;
    }
    for (std::uint32_t m = 0; m < n; ++m) {
      const std::uint32_t b = block_[call.groups.actor(g, m)];
      if (members[b]++ == 0) met.push_back(b);
    }
    for (const std::uint32_t b : met) {
      count_group(b, members[b]);
      members[b] = 0;
    }
    met.clear();
  }
  double most = 0;
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    most = std::max({most, time_over(bytes[b].out, blocks_[b].out), time_over(bytes[b].in, blocks_[b].in)});
  return most;
}

}  // namespace busbar::plan
