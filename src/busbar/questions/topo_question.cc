#include "busbar/questions/topo_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "busbar/formats/dot_writer.h"
#include "busbar/formats/nccl_topo_xml_writer.h"
#include "busbar/host/host_files.h"
#include "busbar/host/host_nics.h"
#include "busbar/host/node_xml.h"
#include "busbar/host/pci_devices.h"
#include "busbar/questions/machine_request.h"
#include "busbar/step/machine.h"

namespace busbar::questions {
namespace {

double giga(BytesPerSecond r) { return static_cast<double>(per_second(r)) / 1e9; }

/// Whether a field asks for what only a machine with GPUs has.
bool asks_for_parts(const TopoRequest& q) {
  const bool files = !q.dot.empty() || !q.svg.empty() || !q.nccl_xml.empty() || !q.cables.empty() || !q.yaml.empty();
  return files || q.matrix || q.tree || q.levels || q.all || q.bandwidth || q.latency || q.node;
}

Result<TopoAnswer> host_result(const TopoRequest& q, const host::HostFiles& files) {
  if (!files.exists("/sys") || !files.exists("/proc"))
    return invalid("there are no folders sys and proc of a Linux host; name a machine (dgx-h100), or --root DIR",
                   field_of("CLUSTER"));
  TopoHost r;
  for (const host::HostNic& n : host::host_nics(files)) {
    TopoNic& nic = r.nics.emplace_back(TopoNic{n.name, {}, n.state, n.layer, n.rdma, {}, n.pci});
    if (n.rate_bps > 0) nic.rate_bytes_per_s = static_cast<double>(n.rate_bps) / 8;
    if (n.numa_node >= 0) nic.numa_node = n.numa_node;
  }
  const std::string online = files.line("/sys/devices/system/node/online");
  if (!online.empty()) r.numa_nodes_online = online;
  r.inputs_hash = inputs_hash("topo", q, {});
  return TopoAnswer(std::move(r));
}

TopoCabling cabling_of(const spec::Cluster& c, const topology::CablingSums& s) {
  TopoCabling out{s.cables, s.length_m, s.transceivers, s.too_long, s.power_w, c.topology.fabric_switches().size(),
                  {},       {}};
  if (c.switches_power_w > 0) out.switches_power_w = c.switches_power_w;
  for (std::size_t i = 0; i < s.parts.size(); ++i) {
    const topology::CablePartSum& p = s.parts[i];
    const topology::CablePart& part = c.cabling.parts[i];
    out.parts.push_back({part.name, topology::name_of(part.medium), part.reach_m, p.cables, p.ends, p.length_m,
                         p.longest_m, p.power_w});
  }
  return out;
}

void add_levels(const TopoFacts& f, TopoResult& r) {
  for (const topology::Level& l : f.levels) {
    TopoLevel& out = r.levels.emplace_back(TopoLevel{l.name, l.wire_GBps, l.payload_GBps, {}, {}, l.note});
    if (l.latency > Duration()) out.latency_ns = l.latency.in_ns();
    if (l.ratio > 0) out.ratio = l.ratio;
  }
}

void add_sharing(const topology::Topology& t, const SharedWays& w, TopoResult& r) {
  if (!w.nics.empty()) r.gpus_per_nic = static_cast<double>(w.gpus) / static_cast<double>(w.nics.size());
  for (const topology::PcieRoot& root : w.roots) {
    TopoRoot& out = r.pcie_roots.emplace_back(TopoRoot{name_in_node(t, root.top), {}, {}});
    for (const topology::DeviceId d : root.gpus) out.gpus.push_back(name_in_node(t, d));
    for (const topology::DeviceId d : root.nics) out.nics.push_back(name_in_node(t, d));
  }
  for (const TierRatio& tier : w.tiers) r.tiers.push_back({tier.tier, tier.ratio, tier.non_blocking()});
}

void add_graph(const topology::Topology& t, TopoResult& r) {
  r.devices.emplace();
  for (std::uint32_t i = 0; i < t.device_count(); ++i) {
    const auto d = static_cast<topology::DeviceId>(i);
    TopoDevice& out =
        r.devices->emplace_back(TopoDevice{t.name(d), topology::name_of(t.kind(d)), t.device_class(d).part, {}, {}});
    if (t.numa(d) >= 0) out.numa = t.numa(d);
    if (count(t.device_class(d).memory) > 0) out.memory_bytes = count(t.device_class(d).memory);
  }
  r.links.emplace();
  for (std::uint32_t i = 0; i < t.link_count(); i += 2) {
    const auto l = static_cast<topology::LinkId>(i);
    const topology::LinkClass& c = t.link_class(l);
    r.links->push_back({t.name(t.from(l)), t.name(t.to(l)), topology::name_of(c.kind), c.part, c.lanes,
                        giga(c.wire_rate), giga(c.payload_rate()), c.latency.in_ns(), c.health});
  }
}

TopoResult machine_result(const spec::Cluster& c, TopoFacts f) {
  TopoResult r;
  r.cluster = c.name;
  r.counts = f.counts;
  add_levels(f, r);
  r.bisection_GBps = f.bisection.GBps;
  r.bisection_kind = f.bisection.kind;
  r.bisection_cut = f.bisection.cut;
  r.memory_bytes_total = count(f.memory);
  r.scale_up_domain =
      TopoDomain{f.scale_up.gpus, count(f.scale_up.memory), f.scale_up.ports_GBps, largest_models(f.scale_up)};
  r.fabric =
      TopoFabric{c.fabric.kind, c.fabric.network, {}, c.fabric.oversubscription, c.fabric.oversubscription_asked};
  if (!c.fabric.wiring.empty()) r.fabric.wiring = c.fabric.wiring;
  add_sharing(c.topology, f.ways, r);
  r.p2p = c.p2p;
  r.gpudirect = c.gpudirect;
  if (c.ocs.switches > 0)
    r.optical_switches = TopoOptical{c.ocs.switches,
                                     c.ocs.cube,
                                     c.ocs.links(f.scale_up.gpus),
                                     c.ocs.switching.in_s(),
                                     c.ocs.initialisation.in_s(),
                                     c.ocs.reconfiguration().in_s()};
  if (!f.cables.empty()) r.cabling = cabling_of(c, f.cabling);
  r.facts = std::move(f);
  return r;
}

TopoMatrix matrix_of(topology::RelationMatrix m) {
  return {std::move(m.names), std::move(m.cells), std::move(m.cpu_affinity), std::move(m.numa_affinity),
          std::move(m.legend)};
}

Status add_files(const TopoRequest& q, const spec::Cluster& c, TopoResult& r) {
  if (!q.nccl_xml.empty()) {
    BUSBAR_ASSIGN(std::string text, formats::write_nccl_topo_xml(c.topology, r.block));
    r.files.push_back({q.nccl_xml, std::move(text)});
  }
  if (!q.dot.empty()) r.files.push_back({q.dot, formats::write_dot(c.topology, c.name)});
  if (!q.cables.empty()) {
    if (r.facts.cables.empty())
      return invalid("without a network there are no cables; name several nodes (dgx-h100:64) or a fabric",
                     field_of("cables"));
    r.files.push_back({q.cables, topology::cabling_csv(c.topology, r.facts.cables, c.cabling)});
  }
  if (q.yaml.empty()) return {};
  BUSBAR_ASSIGN(std::string text, step::machine_yaml(q.cluster, c, q.machine));
  r.files.push_back({q.yaml, std::move(text)});
  return {};
}

Status add_parts(const TopoRequest& q, const spec::Cluster& c, TopoResult& r) {
  if (q.all || q.matrix) r.matrix = matrix_of(topology::relation_matrix(c.topology, r.block));
  if (q.all) add_graph(c.topology, r);
  if (q.bandwidth || q.latency) {
    BUSBAR_ASSIGN(r.pairs, pair_figures(c, r.block));
  }
  if (q.hops) {
    BUSBAR_ASSIGN(r.hops, hop_counts(c, r.block));
  }
  return {};
}

}  // namespace

Result<TopoAnswer> answer(const TopoRequest& q, const Context&) {
  if (!q.cluster.empty() && q.root != "/")
    return invalid("is for this host; leave out --root or the machine", field_of("root"));
  const host::HostFiles host(q.root);
  if (q.cluster.empty() && !host::has_gpu(host)) {
    if (asks_for_parts(q))
      return invalid("this host has no GPU, so it has no such part or file; name a machine (dgx-h100)",
                     field_of("CLUSTER"));
    return host_result(q, host);
  }
  BUSBAR_ASSIGN(spec::Cluster loaded, q.cluster.empty()
                                          ? step::read_machine(host::node_xml(host), "this host", q.machine)
                                          : step::load_machine(q.cluster, q.machine));
  const auto cluster = std::make_shared<const spec::Cluster>(std::move(loaded));
  const auto blocks = static_cast<std::int64_t>(cluster->topology.blocks().size());
  const std::int64_t node = q.node.value_or(0);
  if (q.yaml != "-" && (node < 0 || node >= blocks))
    return invalid(fmt::format("there is no node {}; they are numbered 0 to {}", node, blocks - 1), field_of("node"));
  const auto block = static_cast<topology::BlockId>(q.yaml == "-" ? 0 : node);
  TopoResult r = machine_result(*cluster, topo_facts(*cluster, block));
  r.machine = cluster;
  r.block = block;
  if (q.yaml != "-") BUSBAR_RETURN_IF_ERROR(add_parts(q, *cluster, r));
  BUSBAR_RETURN_IF_ERROR(add_files(q, *cluster, r));
  r.inputs_hash = inputs_hash("topo", q, cluster->text);
  return TopoAnswer(std::move(r));
}

Question topo_question() {
  return make_question<TopoRequest, TopoAnswer>(
      "topo",
      "show a machine or, without one, this host: counts, tiers, bisection, memory, matrix, tree, drawings, files for "
      "other tools",
      "  busbar topo dgx-h100\n"
      "  busbar topo  # this host\n"
      "  busbar topo dgx-a100 --matrix --tree\n"
      "  busbar topo dgx-1v --bandwidth --latency\n"
      "  busbar topo dgx-h100:64 --all --json\n"
      "  busbar topo dgx-h100:64 --html machine.html --svg fabric.svg --cables cables.csv\n"
      "  busbar topo dgx-h100:4 --yaml four.yaml  # to be changed by hand\n"
      "  busbar topo dgx-h100 --nccl-xml node.xml --dot node.dot --svg node.svg\n",
      40);
}

}  // namespace busbar::questions
