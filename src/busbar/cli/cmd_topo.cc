#include <fmt/core.h>

#include <memory>
#include <optional>

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/pair_figures.h"
#include "busbar/cli/session.h"
#include "busbar/cli/streams.h"
#include "busbar/cli/topo_host.h"
#include "busbar/cli/topo_report.h"
#include "busbar/formats/dot_writer.h"
#include "busbar/formats/nccl_topo_xml_writer.h"
#include "busbar/host/node_xml.h"
#include "busbar/step/machine.h"
#include "busbar/views/topology_drawing.h"

namespace busbar {
namespace {

struct TopoFlags {
  CommonOptions common;
  std::string cluster, root = "/";
  bool matrix = false, tree = false, levels = false, all = false, bandwidth = false, latency = false, hops = false;
  std::optional<std::int64_t> node;
  std::string dot, svg, nccl_xml, cables, yaml;
};

/// One picture: the network if there is one, unless a node is requested.
Drawing picture(const Topology& t, const TopoFlags& o, BlockId block) {
  const bool inside = o.node.has_value() || t.fabric_switches().empty();
  return inside ? draw_node(t, block, {}) : draw_fabric(t, {});
}

Status write_files(const TopoFlags& o, const Cluster& c, const TopoFacts& facts, BlockId block) {
  if (!o.nccl_xml.empty()) {
    BUSBAR_ASSIGN(const std::string text, write_nccl_topo_xml(c.topology, block));
    BUSBAR_RETURN_IF_ERROR(write_file(o.nccl_xml, text));
  }
  if (!o.dot.empty()) BUSBAR_RETURN_IF_ERROR(write_file(o.dot, write_dot(c.topology, c.name)));
  if (!o.cables.empty()) {
    if (facts.cables.empty()) {
      return flag_error("--cables",
                        "without a network there are no cables; name several nodes (dgx-h100:64) or a fabric");
    }
    BUSBAR_RETURN_IF_ERROR(write_file(o.cables, cabling_csv(c.topology, facts.cables, c.cabling)));
  }
  if (!o.yaml.empty()) {
    BUSBAR_ASSIGN(const std::string text, machine_yaml(o.cluster, c, o.common.overrides));
    BUSBAR_RETURN_IF_ERROR(write_file(o.yaml, text));
  }
  if (!o.svg.empty()) BUSBAR_RETURN_IF_ERROR(write_file(o.svg, render_svg(picture(c.topology, o, block))));
  return {};
}

/// Whether a flag asks for what only a machine with GPUs has.
bool asks_for_parts(const TopoFlags& o) {
  const bool files = !o.dot.empty() || !o.svg.empty() || !o.nccl_xml.empty() || !o.cables.empty() || !o.yaml.empty();
  return files || o.matrix || o.tree || o.levels || o.all || o.bandwidth || o.latency || o.node;
}

constexpr std::uint32_t kMostInMatrix = 72;  ///< GPUs of a domain whose pairs a page shows

std::string pair_tables(const TopoFlags& o, const PairFigures& pairs, std::size_t columns) {
  std::string out;
  const auto add = [&](const char* title, const std::vector<std::vector<double>>& values) {
    out += pair_text(title, pairs, values, columns);
  };
  if (o.bandwidth) {
    add("Bandwidth of each pair alone, one direction, payload (GB/s)", pairs.payload_GBps);
    add("Bandwidth of each pair alone, both directions at the same time, their sum (GB/s)", pairs.both_GBps);
  }
  if (o.bandwidth && !pairs.staged_GBps.empty()) {
    add("The same with P2P off, through host memory, one direction (GB/s)", pairs.staged_GBps);
    add("With P2P off, both directions, their sum (GB/s)", pairs.staged_both_GBps);
  }
  if (o.latency) add("Latency of each pair, hardware alone (us)", pairs.latency_us);
  if (o.latency && !pairs.staged_latency_us.empty())
    add("Latency of a copy with P2P off, in two steps through host memory, with software (us)",
        pairs.staged_latency_us);
  return out;
}

Result<int> run(const TopoFlags& o) {
  if (!o.cluster.empty() && o.root != "/")
    return flag_error("--root", "is for this host; leave out --root or the machine");
  const HostFiles host(o.root);
  if (o.cluster.empty() && !has_gpu(host)) {
    if (asks_for_parts(o))
      return flag_error("CLUSTER", "this host has no GPU, so it has no such part or file; name a machine (dgx-h100)");
    return show_host(o.common, host);
  }
  BUSBAR_ASSIGN(const Cluster cluster, o.cluster.empty() ? read_machine(node_xml(host), "this host", o.common.overrides)
                                                         : load_machine(o.cluster, o.common.overrides));
  if (o.yaml == "-") {
    BUSBAR_ASSIGN(const std::string text, machine_yaml(o.cluster, cluster, o.common.overrides));
    return print_out(text);
  }
  const auto blocks = static_cast<std::int64_t>(cluster.topology.blocks().size());
  const std::int64_t node = o.node.value_or(0);
  if (node < 0 || node >= blocks)
    return flag_error("--node", fmt::format("there is no node {}; they are numbered 0 to {}", node, blocks - 1));
  TopoParts parts;
  parts.all = o.all;
  parts.matrix = o.matrix;
  parts.tree = o.tree;
  parts.pictures = !o.common.html.empty();
  parts.levels = o.levels || !(o.matrix || o.tree || o.bandwidth || o.latency || o.hops);
  parts.block = static_cast<BlockId>(node);
  const TopoFacts facts = topo_facts(cluster, parts.block);
  BUSBAR_RETURN_IF_ERROR(write_files(o, cluster, facts, parts.block));
  Json j{{"schema", "busbar.topo/1"}};
  j.update(topo_json(cluster, facts, parts));
  Document document = topo_document(cluster, facts, parts, o.common.typed);
  std::string tables;
  const auto columns = static_cast<std::size_t>(text_options().columns);
  if (o.bandwidth || o.latency || (parts.pictures && facts.scale_up.gpus <= kMostInMatrix)) {
    BUSBAR_ASSIGN(const PairFigures pairs, pair_figures(cluster, parts.block));
    if (o.bandwidth || o.latency) j["pairs"] = to_json(pairs);
    tables = pair_tables(o, pairs, columns);
    Drawing matrix =
        draw_pairs("Bandwidth of each pair of GPUs alone, one direction, payload (GB/s)", pairs, pairs.payload_GBps);
    if (!matrix.shapes.empty())  // before the sources
      document.blocks.insert(document.blocks.end() - 1, {std::move(matrix), Audience::kPage});
  }
  if (o.hops) {
    BUSBAR_ASSIGN(const HopCounts counts, hop_counts(cluster, parts.block));
    j["hops"] = to_json(counts);
    tables += hop_text(counts, columns);
  }
  if (o.matrix || o.all) tables += "\n" + matrix_text(cluster.topology, relation_matrix(cluster.topology, parts.block));
  j["inputs_hash"] = inputs_hash(o.common, cluster.text);
  BUSBAR_ASSIGN(const int status, deliver(o.common, j, document));
  return o.common.for_programs() || tables.empty() ? status : print_out(tables, status);
}

}  // namespace

Command topo_command(const std::string& typed) {
  const auto o = std::make_shared<TopoFlags>();
  Command c = new_command(
      o->common, typed, "topo",
      "show a machine or, without one, this host: counts, tiers, bisection, memory, matrix, tree, drawings, files for "
      "other tools");
  c.examples =
      "  busbar topo dgx-h100\n"
      "  busbar topo  # this host\n"
      "  busbar topo dgx-a100 --matrix --tree\n"
      "  busbar topo dgx-1v --bandwidth --latency\n"
      "  busbar topo dgx-h100:64 --all --json\n"
      "  busbar topo dgx-h100:64 --html machine.html --svg fabric.svg --cables cables.csv\n"
      "  busbar topo dgx-h100:4 --yaml four.yaml  # to be changed by hand\n"
      "  busbar topo dgx-h100 --nccl-xml node.xml --dot node.dot --svg node.svg\n";
  c.positionals = {cluster_word(o->cluster, false)};
  c.flags = {
      {"--matrix", "", "paths between the devices of one node, in the format of nvidia-smi topo -m", "Parts",
       &o->matrix},
      {"--tree", "", "the sockets of one node and the devices below them", "Parts", &o->tree},
      {"--bandwidth", "",
       "GB/s of each pair of GPUs of one node alone, one and both directions, as p2pBandwidthLatencyTest shows them",
       "Parts", &o->bandwidth},
      {"--latency", "", "latency in us of each pair of GPUs of one node, without software", "Parts", &o->latency},
      {"--hops", "", "number of links between the GPUs and NICs of one node", "Parts", &o->hops},
      {"--levels", "", "rate, latency and ratio per tier (the default without another part)", "Parts", &o->levels},
      {"--all", "", "levels, tree and matrix; with --json also devices and links", "Parts", &o->all},
      {"--node", "N", "the node for tables, tree, --nccl-xml and --svg (default 0)", "Parts", &o->node},
      {"--svg", "FILE", "draw the network; or the inside of a node, with --node or without a network", "Files",
       &o->svg},
      {"--nccl-xml", "FILE", "one node as a topology file for NCCL_TOPO_FILE", "Files", &o->nccl_xml},
      {"--dot", "FILE", "the machine as a graph for Graphviz", "Files", &o->dot},
      without({"--degrade", "--fail"},
              {"--yaml", "FILE", "the machine as a commented cluster file that names no other machine; - prints it",
               "Files", &o->yaml}),
      {"--cables", "FILE", "list of cables with length, medium and part as CSV", "Files", &o->cables},
      cluster_flag(o->cluster),
      {"--root", "DIR", "without a machine: read copies of the folders sys and proc below DIR instead of this host",
       "Machine", &o->root},
  };
  add_common_flags(c, o->common, Engines::kNone);
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
