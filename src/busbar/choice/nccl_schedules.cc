#include "busbar/choice/nccl_schedules.h"

#include <algorithm>

#include "busbar/collectives/builders.h"

namespace busbar::choice {
namespace {

/// One channel of NCCL: its ring order or tree, and its NICs.
template <typename Shape>
struct Channel {
  Shape shape;
  std::vector<nccl::NcclPorts> ports;
  std::uint32_t times = 1;  ///< number of channels equal in both
};

/// Adds a channel to the list of distinct channels, in order of first appearance.
template <typename Shape>
void count(std::vector<Channel<Shape>>& channels, Shape shape, std::vector<nccl::NcclPorts> ports,
           const Shortcuts& shortcuts) {
  const auto alike = [&](const Channel<Shape>& c) { return c.shape == shape && c.ports == ports; };
  const auto it = std::find_if(channels.begin(), channels.end(), alike);
  if (it == channels.end() || !shortcuts.take(Shortcut::kEqualChannels))
    channels.push_back({std::move(shape), std::move(ports)});
  else
    ++it->times;
}

/// Parents before children, as GivenTree requires.
collectives::GivenTree given(const nccl::NcclTree& tree) {
  collectives::GivenTree out;
  std::uint32_t root = 0;
  while (root < tree.up.size() && tree.up[root] != nccl::kNoRank) ++root;
  out.position.push_back(root);
  out.parent.push_back(0);
  for (std::uint32_t node = 0; node < out.position.size(); ++node)
    for (const std::int32_t child : tree.down[out.position[node]])
      if (child != nccl::kNoRank) {
        out.position.push_back(static_cast<std::uint32_t>(child));
        out.parent.push_back(node);
      }
  return out;
}

}  // namespace

Result<NcclSchedules::Laid> NcclSchedules::rings(const program::CollectiveCall& call, std::uint32_t used) const {
  collectives::ScheduleSpec spec;
  spec.algorithm = call.algorithm;
  spec.op = call.op;
  spec.ranks = comm_.ranks;
  spec.root = call.root;
  Laid out;
  std::vector<Channel<std::vector<std::uint32_t>>> channels;
  for (std::uint32_t c = 0; c < used; ++c) {
    nccl::NcclRing ring = nccl::nccl_ring(comm_, c);
    count(channels, std::move(ring.order), std::move(ring.ports), comm_.settings.shortcuts);
  }
  const bool even =
      std::all_of(channels.begin(), channels.end(), [&](const auto& c) { return c.times == channels.front().times; });
  for (const auto& c : channels)  // all channels of a ring schedule have equal shares
    for (std::uint32_t i = 0; i < (even ? 1 : c.times); ++i) {
      spec.orders.push_back(c.shape);
      out.ports.push_back(c.ports);
    }
  BUSBAR_ASSIGN(collectives::Schedule schedule, collectives::build_schedule(spec));
  out.schedule = std::make_shared<const collectives::Schedule>(std::move(schedule));
  out.shapes = std::move(spec.orders);
  return out;
}

Result<NcclSchedules::Laid> NcclSchedules::trees(const program::CollectiveCall& call, std::uint32_t used) const {
  using Shape = std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>;
  std::vector<Channel<Shape>> channels;
  for (std::uint32_t c = 0; c < used; ++c) {
    nccl::NcclTree tree = nccl::nccl_tree(comm_, c);
    collectives::GivenTree shape = given(tree);
    count(channels, Shape{std::move(shape.position), std::move(shape.parent)}, std::move(tree.ports),
          comm_.settings.shortcuts);
  }
  std::vector<collectives::WeightedTree> trees;
  Laid out;
  for (auto& c : channels) {
    out.shapes.push_back(c.shape.first);
    out.shapes.push_back(c.shape.second);
    trees.push_back({collectives::GivenTree{std::move(c.shape.first), std::move(c.shape.second)}, c.times});
    out.ports.push_back(std::move(c.ports));
  }
  BUSBAR_ASSIGN(collectives::Schedule schedule,
                collectives::build_tree_packing(call.op, comm_.ranks, call.root, trees));
  out.schedule = std::make_shared<const collectives::Schedule>(std::move(schedule));
  return out;
}

/// Every rank uses the NICs nearest to its GPU in turn.
NcclSchedules::Laid NcclSchedules::local() const {
  std::size_t turns = 0;
  Laid out;
  for (const nccl::NcclNodeShape& shape : comm_.shapes) {
    if (shape.system.net_count() == 0) return out;
    for (std::uint32_t g = 0; g < shape.system.gpu_count(); ++g)
      turns = std::max(turns, nccl::local_nets(shape.system, g).size());
  }
  out.ports.resize(turns);
  for (std::uint32_t c = 0; c < turns; ++c)
    for (std::uint32_t n = 0; n < comm_.node_count(); ++n)
      for (std::uint32_t g = 0; g < comm_.nodes[n].ranks.size(); ++g) {
        const nccl::NcclPort port = nccl::nccl_local_port(comm_, n, g, c);
        out.ports[c].push_back({port, port});
      }
  return out;
}

/// Whether NCCL runs calls of this shape over channels: the collectives that have a cost table.
bool NcclSchedules::fits(const program::CollectiveCall& call) const {
  const bool tuned = call.op == collectives::Collective::kAllReduce || call.op == collectives::Collective::kAllGather ||
                     call.op == collectives::Collective::kReduceScatter ||
                     call.op == collectives::Collective::kBroadcast || call.op == collectives::Collective::kReduce;
  return tuned && call.root == 0 && call.groups.size() == comm_.ranks && comm_.channels > 0;
}

Result<const NcclSchedules::Laid*> NcclSchedules::lay(const program::CollectiveCall& call, std::uint32_t channels) {
  const bool ordered = collectives::traits_of(call.algorithm).takes_orders;
  const std::uint32_t used = channels == 0 ? comm_.channels : std::min(channels, comm_.channels);
  const auto [at, fresh] = laid_.try_emplace({ordered ? call.algorithm : "", call.op, ordered ? used : 0});
  if (!fresh) return &at->second;
  const auto make = [&]() -> Result<Laid> {
    if (!ordered) return local();
    BUSBAR_ASSIGN(const collectives::Schedule plain,
                  collectives::build_schedule(call.algorithm, call.op, comm_.ranks, 1, call.root));
    const bool tree = !plain.phases.empty() && collectives::is_tree(plain.phases.front().pattern);
    if (tree && call.op != collectives::Collective::kAllReduce) return local();
    return tree ? trees(call, used) : rings(call, used);
  };
  Result<Laid> made = make();
  if (!made.ok()) {
    laid_.erase(at);
    return made.error();
  }
  at->second = std::move(*made);
  return &at->second;
}

bool NcclSchedules::same_channels(NcclSchedules& other, const program::CollectiveCall& call, std::uint32_t channels) {
  if (!fits(call) || !other.fits(call)) return fits(call) == other.fits(call);
  const Result<const Laid*> a = lay(call, channels), b = other.lay(call, channels);
  if (!a.ok() || !b.ok()) return a.ok() == b.ok();
  return (*a)->shapes == (*b)->shapes && (*a)->ports.size() == (*b)->ports.size();
}

Result<program::CollectiveCall> NcclSchedules::over_channels(program::CollectiveCall call, std::uint32_t channels) {
  if (call.groups.groups() != 1) return call;
  std::vector<std::uint32_t> first_device(comm_.ranks);
  for (const nccl::NcclMember& m : comm_.nodes)
    for (const std::uint32_t r : m.ranks) first_device[r] = m.first_device;
  return NcclGroups([this](std::uint32_t) -> NcclSchedules& { return *this; },
                    [&](std::uint32_t, std::uint32_t member) { return first_device[member]; })
      .over_channels(std::move(call), channels);
}

/// Adds the ports of one group. `row_of`: the rows of nics.ports by the first device of the block.
void NcclGroups::add(const nccl::NcclComm& comm, const NcclSchedules::Laid& laid,
                     const collectives::GroupFamily& groups, std::uint32_t group,
                     std::map<std::uint32_t, std::uint32_t>& row_of, program::ChannelNics& nics) const {
  const auto row = [&](std::uint32_t node, const nccl::NcclPort& p) {
    const std::uint32_t first = first_device_(group, p.rank);
    std::vector<std::uint32_t> devices;
    for (const topology::DeviceId d : nccl::nic_devices(comm, node, p.net))
      devices.push_back(index(d) - comm.nodes[node].first_device + first);
    const auto [at, fresh] = row_of.try_emplace(devices.front(), nics.ports.rows());
    if (!fresh) return at->second;
    nics.ports.values.insert(nics.ports.values.end(), devices.begin(), devices.end());
    nics.ports.close_row();
    return at->second;
  };
  std::vector<std::uint32_t> node_of(comm.ranks);
  for (std::uint32_t n = 0; n < comm.node_count(); ++n)
    for (const std::uint32_t r : comm.nodes[n].ranks) node_of[r] = n;
  const auto use = [&](std::uint32_t c, const nccl::NcclPort& p, std::vector<std::uint32_t>& way,
                       std::vector<std::uint32_t>& back) {
    const std::size_t at = nics.at(c, groups.actor(group, p.rank));
    way[at] = row(node_of[p.rank], p);
    if (back[at] == kNone32) back[at] = way[at];  // trees send and receive by the same NIC
    nics.proxy[at] = groups.actor(group, p.proxy);
  };
  for (std::uint32_t c = 0; c < laid.ports.size(); ++c)
    for (const nccl::NcclPorts& ports : laid.ports[c]) {
      use(c, ports.in, nics.in, nics.out);
      use(c, ports.out, nics.out, nics.in);
    }
}

Result<program::CollectiveCall> NcclGroups::over_channels(program::CollectiveCall call, std::uint32_t channels) const {
  const std::uint32_t groups = call.groups.groups();
  std::vector<const NcclSchedules::Laid*> laid(groups);
  for (std::uint32_t g = 0; g < groups; ++g) {
    NcclSchedules& of = of_(g);
    if (!of.fits(call)) return call;
    BUSBAR_ASSIGN(laid[g], of.lay(call, channels));
    if (g > 0 && &of != &of_(g - 1) && !of_(0).same_channels(of, call, channels))
      return Error{ErrorCode::kUnsupported, "the groups have different rings or trees", {}};
  }
  call.schedule = laid[0]->schedule;
  if (laid[0]->ports.empty() || laid[0]->ports[0].empty()) return call;
  auto& known = of_(0).nics_;
  for (const auto& [of, table] : known)
    if (of.first == laid[0] && of.second == call.groups) call.nics = table;
  if (call.nics) return call;
  auto nics = std::make_shared<program::ChannelNics>();
  nics->channels = static_cast<std::uint32_t>(laid[0]->ports.size());
  for (std::uint32_t g = 0; g < groups; ++g)
    for (std::uint32_t m = 0; m < call.groups.size(); ++m)
      nics->ranks = std::max(nics->ranks, call.groups.actor(g, m) + 1);
  nics->out.assign(std::size_t{nics->channels} * nics->ranks, kNone32);
  nics->in = nics->proxy = nics->out;
  std::map<std::uint32_t, std::uint32_t> row_of;
  for (std::uint32_t g = 0; g < groups; ++g) add(of_(g).comm(), *laid[g], call.groups, g, row_of, *nics);
  call.nics = std::move(nics);
  known.push_back({{laid[0], call.groups}, call.nics});
  return call;
}

}  // namespace busbar::choice
