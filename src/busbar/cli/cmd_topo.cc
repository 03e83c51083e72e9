#include "busbar/cli/cmd_topo.h"

#include <fmt/core.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "busbar/base/quantity.h"
#include "busbar/cli/session.h"
#include "busbar/cli/topo_report.h"

namespace busbar {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  CommonOptions common;
  std::string cluster;
  bool matrix = false, tree = false, levels = false, all = false;
  std::uint32_t node = 0;
};

int run(const Options& o) {
  const RunClock clock;
  const Result<Cluster> cluster = load_cluster(o.cluster, o.common.overrides);
  if (!cluster.ok()) return report_error(cluster.error());
  const auto blocks = cluster->topology.blocks().size();
  if (o.node >= blocks)
    return report_error(invalid(fmt::format("there is no node {}; they are numbered 0 to {}", o.node, blocks - 1),
                                {"", 0, 0, "--node"}));
  TopoParts parts;
  parts.all = o.all;
  parts.matrix = o.matrix;
  parts.tree = o.tree;
  parts.levels = o.levels || !(o.matrix || o.tree);
  parts.block = static_cast<BlockId>(o.node);
  const TopoFacts facts = topo_facts(cluster->topology);
  Json j{{"schema", "busbar.topo/1"}};
  j.update(topo_json(*cluster, facts, parts));
  j["inputs_hash"] = fmt::format("{:016x}", hash64(o.common.typed, hash64(cluster->text)));
  j["run"] = clock.to_json();
  const int status = deliver(o.common, j, topo_document(*cluster, facts, parts, o.common.typed));
  if (!o.common.json && (o.matrix || o.all))  // as nvidia-smi prints it: too wide for a table, and other tools read it
    std::fputs(("\n" + matrix_text(cluster->topology, relation_matrix(cluster->topology, parts.block))).c_str(),
               stdout);
  return status;
}

}  // namespace

Command topo_command(const std::string& typed) {
  const auto o = std::make_shared<Options>();
  o->common.typed = typed;
  Command c;
  c.name = "topo";
  c.summary = "show a machine: counts, levels, bisection, memory, matrix, tree, drawings, files for other tools";
  c.examples =
      "  busbar topo dgx-h100\n"
      "  busbar topo dgx-a100 --matrix --tree\n"
      "  busbar topo dgx-h100:64 --all --json\n"
      "  busbar topo dgx-h100:64 --html machine.html\n";
  c.positionals = {
      {"CLUSTER", "preset (dgx-h100), NAME:N (N nodes on their default fabric) or a YAML file", &o->cluster}};
  c.flags = {
      {"--matrix", "", "how devices of one node reach each other, as nvidia-smi topo -m prints it", "Parts",
       &o->matrix},
      {"--tree", "", "sockets of one node and what hangs below them", "Parts", &o->tree},
      {"--levels", "", "rate, latency and ratio per level (shown anyway without --matrix and --tree)", "Parts",
       &o->levels},
      {"--all", "", "all of these; with --json devices, links and matrix too", "Parts", &o->all},
      {"--node", "N", "the node that --matrix and --tree show (default 0)", "Parts", &o->node},
  };
  for (Flag& f : common_flags(o->common, false)) c.flags.push_back(std::move(f));
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
