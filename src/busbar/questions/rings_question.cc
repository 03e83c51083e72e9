#include "busbar/questions/rings_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "busbar/formats/nccl_graph_xml.h"
#include "busbar/predict/environment.h"
#include "busbar/questions/machine_request.h"
#include "busbar/step/machine.h"

namespace busbar::questions {

/// Ranks beginning with the root, parents before children.
std::vector<std::uint32_t> order_of(const nccl::NcclTree& t) {
  std::vector<std::uint32_t> order;
  order.reserve(t.up.size());
  order.push_back(static_cast<std::uint32_t>(std::find(t.up.begin(), t.up.end(), nccl::kNoRank) - t.up.begin()));
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::int32_t d : t.down[order[i]])
      if (d != nccl::kNoRank) order.push_back(static_cast<std::uint32_t>(d));
  return order;
}

std::string nic_name(const nccl::NcclComm& comm, const topology::Topology& topology, std::uint32_t node,
                     std::uint32_t net) {
  const nccl::NcclMember& member = comm.nodes[node];
  std::string text = fmt::format("node{}", node < topology.blocks().size() ? index(member.block) : node);
  const char* separator = ".";
  for (const topology::DeviceId nic : nccl::nic_devices(comm, node, net)) {
    text += separator + topology.template_device(nic).name;
    separator = "+";
  }
  return text;
}

namespace {

formats::NcclGraphRecord graph_record(int id, const nccl::NcclGraph& g, const nccl::NcclSystem& system) {
  formats::NcclGraphRecord r;
  r.id = id;
  r.pattern = static_cast<int>(g.pattern);
  r.cross_nic = g.cross_nic;
  r.same_channels = g.same_channels ? 1 : 0;
  r.speed_intra = static_cast<double>(g.intra_GBps);
  r.speed_inter = static_cast<double>(g.inter_GBps);
  r.latency_inter = static_cast<double>(g.inter_latency_us);
  r.type_intra = topology::name_of(g.intra_type);
  r.type_inter = topology::name_of(g.inter_type);
  const std::uint32_t places = g.pattern == nccl::NcclPattern::kNvls ? 1 : g.gpus;  // NVLS lists only heads
  for (std::uint32_t c = 0; c < g.channels; ++c) {
    formats::NcclGraphChannel channel;
    if (!g.inter.empty()) channel.net_in = g.net(c, 0);
    for (std::uint32_t p = 0; p < places; ++p)
      channel.gpus.push_back({static_cast<int>(system.nodes[system.gpus[g.gpu(c, p)]].dev), -1});
    if (!g.inter.empty()) channel.net_out = g.net(c, 1);
    r.channels.push_back(std::move(channel));
  }
  return r;
}

/// The graphs of the first node, with GPUs by CUDA number, as in NCCL_GRAPH_DUMP_FILE. Graphs without channels are
/// omitted, as if they had not been searched.
std::vector<formats::NcclGraphRecord> graph_records(const nccl::NcclComm& comm) {
  const nccl::NcclNodeShape& shape = comm.shapes[comm.nodes.front().shape];
  const nccl::NcclGraphs& g = shape.graphs;
  const nccl::NcclGraph* all[] = {&g.ring, &g.tree, &g.collnet_chain, &g.nvls, &g.collnet_direct};
  std::vector<formats::NcclGraphRecord> out;
  for (int id = 0; id < 5; ++id)
    if (all[id]->channels > 0) out.push_back(graph_record(id, *all[id], shape.system));
  return out;
}

std::optional<RingGraph> ring_graph(const nccl::NcclGraph& g) {
  if (g.channels == 0) return {};
  return RingGraph{nccl::name_of(g.pattern),
                   g.cross_nic,
                   g.channels,
                   g.intra_GBps,
                   g.inter_GBps,
                   topology::name_of(g.intra_type),
                   topology::name_of(g.inter_type)};
}

/// What the rows of channels are made of.
struct ChannelSource {
  std::shared_ptr<const spec::Cluster> machine;
  std::shared_ptr<const nccl::NcclComm> comm;
  std::vector<bool> rings, trees;
  std::vector<std::vector<std::uint32_t>> heads;

  std::string nic(std::uint32_t node, std::uint32_t net) const { return nic_name(*comm, machine->topology, node, net); }
};

std::vector<std::string> channel_nics(const ChannelSource& s, const std::vector<nccl::NcclPorts>& ports) {
  std::vector<std::string> out;
  for (std::uint32_t n = 0; n < ports.size(); ++n) {
    out.push_back(s.nic(n, ports[n].in.net));
    if (ports[n].out.net != ports[n].in.net) out.push_back(s.nic(n, ports[n].out.net));
  }
  return out;
}

RingChannel ring_channel(const ChannelSource& s, std::uint32_t ch) {
  const nccl::NcclRing ring = nccl::nccl_ring(*s.comm, ch);
  return {"ring", ch, ring.order, {}, channel_nics(s, ring.ports), s.rings[ch % s.rings.size()]};
}

RingChannel tree_channel(const ChannelSource& s, std::uint32_t ch) {
  const nccl::NcclTree tree = nccl::nccl_tree(*s.comm, ch);
  RingChannel out{"tree", ch, order_of(tree), {}, channel_nics(s, tree.ports), s.trees[ch % s.trees.size()]};
  out.parents.emplace();
  for (const std::uint32_t r : out.order) out.parents->push_back(tree.up[r]);
  return out;
}

/// The chain to the channel's GPU that talks to the reducing network, node after node.
RingChannel collnet_channel(const ChannelSource& s, std::uint32_t ch) {
  RingChannel out{"collnet_chain", ch, {}, {}, {}, true};
  for (std::uint32_t n = 0; n < s.comm->node_count(); ++n) {
    const nccl::NcclGraph& g = s.comm->shapes[s.comm->nodes[n].shape].graphs.collnet_chain;
    for (std::uint32_t i = 0; i < g.gpus; ++i) out.order.push_back(s.comm->nodes[n].ranks[g.gpu(ch, i)]);
    if (!g.inter.empty()) out.nics.push_back(s.nic(n, g.net(ch, 0)));
  }
  return out;
}

RingChannel nvls_channel(const ChannelSource& s, std::uint32_t h) {
  RingChannel out{"nvls", h, s.heads[h], {}, {}, true};
  for (std::uint32_t n = 0; n < s.comm->node_count(); ++n) {
    const nccl::NcclGraph& g = s.comm->shapes[s.comm->nodes[n].shape].graphs.nvls;
    if (!g.inter.empty()) out.nics.push_back(s.nic(n, g.net(h, 0)));
  }
  return out;
}

Rows<RingChannel> channel_rows(ChannelSource source) {
  const std::uint32_t each = source.comm->channels, chains = source.comm->graphs.collnet_chain.channels;
  Rows<RingChannel> out;
  out.count = 2 * each + chains + source.heads.size();
  out.make = [s = std::move(source), each, chains](std::size_t i) {
    const auto ch = static_cast<std::uint32_t>(i);
    if (ch < each) return ring_channel(s, ch);
    if (ch < 2 * each) return tree_channel(s, ch - each);
    return ch < 2 * each + chains ? collnet_channel(s, ch - 2 * each) : nvls_channel(s, ch - 2 * each - chains);
  };
  return out;
}

/// The GPUs of all nodes with a network, in order, each with its node.
Rows<RankNic> nic_rows(std::shared_ptr<const spec::Cluster> machine, std::shared_ptr<const nccl::NcclComm> comm) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> gpus;
  for (std::uint32_t n = 0; n < comm->node_count(); ++n) {
    const nccl::NcclSystem& s = comm->shapes[comm->nodes[n].shape].system;
    for (std::uint32_t g = 0; g < s.gpu_count() && s.net_count() > 0; ++g) gpus.emplace_back(n, g);
  }
  Rows<RankNic> out;
  out.count = gpus.size();
  out.make = [machine = std::move(machine), comm = std::move(comm), gpus = std::move(gpus)](std::size_t i) {
    const auto [n, g] = gpus[i];
    const nccl::NcclSystem& s = comm->shapes[comm->nodes[n].shape].system;
    return RankNic{comm->nodes[n].ranks[g], nic_name(*comm, machine->topology, n, nccl::local_net(s, g, 0))};
  };
  return out;
}

Result<nccl::NcclSettings> settings_of(const RingsRequest& q, spec::Cluster& c) {
  Result<nccl::NcclVersion> version = nccl::parse_nccl_version(q.nccl);
  if (!version.ok()) return invalid(version.error().message, field_of("nccl"));
  Result<nccl::NcclSettings> set = predict::apply_nccl_environment(c, *version, q.env);
  if (!set.ok()) {
    set.error().where.path = "env";
    return set.error();
  }
  nccl::NcclSettings s = *std::move(set);
  if (!q.cross_nic.empty() && q.cross_nic != "0" && q.cross_nic != "1" && q.cross_nic != "2")
    return invalid(fmt::format("'{}' is not 0 (never), 1 (always) or 2 (if faster)", q.cross_nic),
                   field_of("cross_nic"));
  if (!q.cross_nic.empty()) s.cross_nic = q.cross_nic[0] - '0';
  if (q.no_nvls) s.nvls = false;
  if (q.no_pxn) s.pxn = false;
  if (q.collnet) s.collnet = true;
  return s;
}

Result<nccl::NcclComm> comm_of(const RingsRequest& q, const spec::Cluster& cluster,
                               const nccl::NcclSettings& settings) {
  auto gpus = cluster.topology.gpus();
  if (gpus.empty()) return invalid("there is no GPU in this machine", {q.cluster, 0, 0, ""});
  if (q.gpus > gpus.size()) return spec::too_many_gpus("-g", q.gpus, cluster, q.machine);
  if (q.copies == 0) return invalid("at least 1 node is needed", field_of("copies"));
  constexpr std::uint64_t kMostRanks = std::uint64_t{1} << 20;  // takes some seconds
  if (std::uint64_t{q.copies} * gpus.size() > kMostRanks)
    return invalid(fmt::format("{} copies of {} GPUs are more than {} ranks", q.copies, gpus.size(), kMostRanks),
                   field_of("copies"));
  if (q.gpus > 0) gpus = gpus.first(q.gpus);
  return nccl::build_nccl_comm(cluster.topology, gpus, settings, q.copies);
}

RingsResult result_of(std::shared_ptr<const spec::Cluster> machine, std::shared_ptr<const nccl::NcclComm> comm) {
  const nccl::NcclComm& c = *comm;
  RingsResult r;
  r.cluster = machine->name;
  r.gpus = c.ranks;
  r.nodes = c.node_count();
  r.nccl_version = nccl::to_string(c.settings.version);
  r.library = nccl::library_name(c);
  r.rings_from = nccl::origin_of_rings(c);
  r.cross_nic = c.settings.cross_nic;
  r.counts = {c.channels, c.nvls_channels, c.p2p_channels, c.p2p_channels_per_peer};
  r.graphs = {ring_graph(c.graphs.ring), ring_graph(c.graphs.tree), c.nvls ? ring_graph(c.graphs.nvls) : std::nullopt,
              ring_graph(c.graphs.collnet_chain), ring_graph(c.graphs.collnet_direct)};
  r.nic_of_gpu = nic_rows(machine, comm);
  r.channels =
      channel_rows({machine, comm, nccl::balanced_rings(c), nccl::balanced_trees(c), nccl::nccl_nvls_heads(c)});
  r.machine = std::move(machine);
  r.comm = std::move(comm);
  return r;
}

}  // namespace

Result<RingsResult> answer(const RingsRequest& q, const Context&) {
  BUSBAR_ASSIGN(spec::Cluster loaded, step::load_machine(q.cluster, q.machine));
  BUSBAR_ASSIGN(const nccl::NcclSettings settings, settings_of(q, loaded));
  const auto cluster = std::make_shared<const spec::Cluster>(std::move(loaded));
  BUSBAR_ASSIGN(nccl::NcclComm made, comm_of(q, *cluster, settings));
  RingsResult r = result_of(cluster, std::make_shared<const nccl::NcclComm>(std::move(made)));
  r.inputs_hash = inputs_hash("rings", q, cluster->text);
  if (!q.nccl_graph.empty()) r.files.push_back({q.nccl_graph, formats::write_nccl_graph_xml(graph_records(*r.comm))});
  return r;
}

const Record& record_of(const RingsRequest*) {
  using Q = RingsRequest;
  const auto field = [](Field f, const char* category, const char* value) {
    return std::move(f).of(category).takes(value);
  };
  static const Record record(
      "rings request",
      joined({{field(Field("gpus", &Q::gpus, "", "use the first N GPUs (default all)").spelled("-g,--gpus"),
                     "Communicator", "N"),
               field({"copies", &Q::copies, "", "use N copies of the machine on one network (default 1)"},
                     "Communicator", "N"),
               field({"nccl", &Q::nccl, "", "NCCL release whose rules apply, 2.18 to 2.30 (default 2.30)"}, "Rules",
                     "VERSION"),
               field({"env", &Q::env, "", "set a variable of NCCL; may be given several times"}, "Rules", "NCCL_X=Y"),
               field({"cross_nic", &Q::cross_nic, "",
                      "NCCL_CROSS_NIC (default: 0 on a fabric of rails, otherwise NCCL's default 2)"},
                     "Rules", "0|1|2"),
               field({"no_nvls", &Q::no_nvls, "", "NCCL_NVLS_ENABLE=0"}, "Rules", ""),
               field({"collnet", &Q::collnet, "", "NCCL_COLLNET_ENABLE=1, on a network whose switches reduce"}, "Rules",
                     ""),
               field({"no_pxn", &Q::no_pxn, "", "NCCL_PXN_DISABLE=1"}, "Rules", ""),
               field(Field("svg", &Q::svg, "", "draw the channels").undecided(), "Files", "FILE"),
               field(Field("nccl_graph", &Q::nccl_graph, "", "write the graphs of the first node for NCCL_GRAPH_FILE")
                         .undecided(),
                     "Files", "FILE"),
               cluster_field(&Q::cluster)},
              fields_inside(&Q::machine),
              {explain_field(&Q::explain)}}));
  return record;
}

const Record& record_of(const RingCounts*) {
  static const Record record("channels", {{"coll", &RingCounts::coll, "", "of collectives"},
                                          {"nvls", &RingCounts::nvls, "", "of NVLS"},
                                          {"p2p", &RingCounts::p2p, "", "point to point"},
                                          {"p2p_per_peer", &RingCounts::p2p_per_peer, "", "of them per peer"}});
  return record;
}

const Record& record_of(const RingGraph*) {
  static const Record record("graph", {{"pattern", &RingGraph::pattern, "", "NCCL's name"},
                                       {"cross_nic", &RingGraph::cross_nic, "", "whether rings change NICs"},
                                       {"channels", &RingGraph::channels, "", "that were found"},
                                       {"intra_GBps", &RingGraph::intra_GBps, "GB/s", "of a channel in the node"},
                                       {"inter_GBps", &RingGraph::inter_GBps, "GB/s", "of a channel to its NIC"},
                                       {"intra_type", &RingGraph::intra_type, "", "worst path in the node"},
                                       {"inter_type", &RingGraph::inter_type, "", "worst path to a NIC"}});
  return record;
}

const Record& record_of(const RingGraphs*) {
  static const Record record("graphs", {{"ring", &RingGraphs::ring, "", "null: no channel"},
                                        {"tree", &RingGraphs::tree, "", "null: no channel"},
                                        {"nvls", &RingGraphs::nvls, "", "null: no channel"},
                                        {"collnet_chain", &RingGraphs::collnet_chain, "", "null: no channel"},
                                        {"collnet_direct", &RingGraphs::collnet_direct, "", "null: no channel"}});
  return record;
}

const Record& record_of(const RankNic*) {
  static const Record record("NIC of a rank",
                             {{"rank", &RankNic::rank, "", "of the GPU"}, {"nic", &RankNic::nic, "", "of channel 0"}});
  return record;
}

const Record& record_of(const RingChannel*) {
  using C = RingChannel;
  static const Record record(
      "channel", {{"kind", &C::kind, "", "ring, tree, collnet_chain or nvls"},
                  {"channel", &C::channel, "", "number of the channel; of NVLS, of the head"},
                  {"order", &C::order, "", "ranks; of trees from the root down"},
                  Field("parents", &C::parents, "", "of trees: of each rank in order; -1: the root").or_absent(),
                  {"nics", &C::nics, "", "node after node"},
                  {"balanced", &C::balanced, "", "no NIC or link carries two channels while an equal one is idle"}});
  return record;
}

const Record& record_of(const RingsResult*) {
  using R = RingsResult;
  static const Record record("rings", {{"cluster", &R::cluster, "", "name of the machine"},
                                       {"gpus", &R::gpus, "", "ranks"},
                                       {"nodes", &R::nodes, "", "of the communicator"},
                                       {"nccl_version", &R::nccl_version, "", "whose rules apply"},
                                       {"library", &R::library, "", "NCCL or RCCL"},
                                       {"rings_from", &R::rings_from, "", "where rings and trees come from"},
                                       {"cross_nic", &R::cross_nic, "", "NCCL_CROSS_NIC"},
                                       {"inputs_hash", &R::inputs_hash, "", "of everything that the result depends on"},
                                       {"counts", &R::counts, "", "channels of each kind"},
                                       {"graphs", &R::graphs, "", "what the search found"},
                                       {"nic_of_gpu", &R::nic_of_gpu, "", "of each rank"},
                                       {"channels", &R::channels, "", "of each kind"}});
  return record;
}

Question rings_question() {
  return make_question<RingsRequest, RingsResult>(
      "rings", "print and draw the rings, trees and NICs that NCCL would use",
      "  busbar rings dgx-h100:2\n"
      "  busbar rings dgx-h100:2 --cross-nic 2 --nccl 2.30 --svg rings.svg\n"
      "  busbar rings node.xml --copies 4 --json\n",
      100);
}

}  // namespace busbar::questions
