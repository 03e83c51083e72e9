#include <fmt/core.h>

#include <memory>

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/machine.h"
#include "busbar/cli/rings_drawing.h"
#include "busbar/cli/rings_graphs.h"
#include "busbar/cli/rings_report.h"
#include "busbar/cli/session.h"
#include "busbar/predict/environment.h"

namespace busbar {
namespace {

struct RingsFlags {
  CommonOptions common;
  std::string cluster, version = "2.30", cross_nic, svg, graph;
  std::vector<std::string> env;
  std::uint32_t gpus = 0, copies = 1;
  bool no_nvls = false, no_pxn = false, collnet = false;
};

Result<NcclSettings> settings_of(const RingsFlags& o, Cluster& c) {
  Result<NcclVersion> version = parse_nccl_version(o.version);
  if (!version.ok()) {
    version.error().where.path = "--nccl";
    return version.error();
  }
  Result<NcclSettings> set = apply_nccl_environment(c, *version, o.env);
  if (!set.ok()) {
    set.error().where.path = "--env";
    return set.error();
  }
  NcclSettings s = *std::move(set);
  if (!o.cross_nic.empty() && o.cross_nic != "0" && o.cross_nic != "1" && o.cross_nic != "2")
    return flag_error("--cross-nic", fmt::format("'{}' is not 0 (never), 1 (always) or 2 (if faster)", o.cross_nic));
  if (!o.cross_nic.empty()) s.cross_nic = o.cross_nic[0] - '0';
  if (o.no_nvls) s.nvls = false;
  if (o.no_pxn) s.pxn = false;
  if (o.collnet) s.collnet = true;
  return s;
}

Result<int> run(const RingsFlags& o) {
  BUSBAR_ASSIGN(Cluster cluster, load_machine(o.cluster, o.common.overrides));
  BUSBAR_ASSIGN(const NcclSettings settings, settings_of(o, cluster));
  auto gpus = cluster.topology.gpus();
  if (gpus.empty()) return invalid("there is no GPU in this machine", {o.cluster, 0, 0, ""});
  if (o.gpus > gpus.size())
    return flag_error("-g", fmt::format("{} GPUs asked for, {} has {}", o.gpus, cluster.name, gpus.size()));
  if (o.copies == 0) return flag_error("--copies", "at least 1 node is needed");
  constexpr std::uint64_t kMostRanks = std::uint64_t{1} << 20;  // takes some seconds
  if (std::uint64_t{o.copies} * gpus.size() > kMostRanks)
    return flag_error("--copies",
                      fmt::format("{} copies of {} GPUs are more than {} ranks", o.copies, gpus.size(), kMostRanks));
  if (o.gpus > 0) gpus = gpus.first(o.gpus);
  BUSBAR_ASSIGN(const NcclComm comm, build_nccl_comm(cluster.topology, gpus, settings, o.copies));
  const RingsView view{&comm, &cluster.topology, cluster.name};
  Json j{{"schema", "busbar.rings/1"},
         {"cluster", cluster.name},
         {"gpus", comm.ranks},
         {"nodes", comm.node_count()},
         {"nccl_version", to_string(settings.version)},
         {"library", library_name(comm)},
         {"rings_from", origin_of_rings(comm)},
         {"cross_nic", settings.cross_nic},
         {"inputs_hash", inputs_hash(o.common, cluster.text)}};
  Document d;
  d.command = o.common.typed;
  if (o.common.for_programs()) rings_to_json(view, j);
  if (!o.common.for_programs() || !o.common.html.empty()) rings_to_document(view, d);
  if (!o.common.html.empty()) d.add(draw_rings(view), Audience::kPage);
  if (!o.svg.empty()) BUSBAR_RETURN_IF_ERROR(write_file(o.svg, render_svg(draw_rings(view))));
  if (!o.graph.empty()) BUSBAR_RETURN_IF_ERROR(write_file(o.graph, write_nccl_graph_xml(graph_records(comm))));
  return deliver(o.common, j, d);
}

}  // namespace

Command rings_command(const std::string& typed) {
  const auto o = std::make_shared<RingsFlags>();
  Command c = new_command(o->common, typed, "rings", "print and draw the rings, trees and NICs that NCCL would use");
  c.examples =
      "  busbar rings dgx-h100:2\n"
      "  busbar rings dgx-h100:2 --cross-nic 2 --nccl 2.30 --svg rings.svg\n"
      "  busbar rings node.xml --copies 4 --json\n";
  c.positionals = {cluster_word(o->cluster)};
  c.flags = {
      {"-g,--gpus", "N", "use the first N GPUs (default all)", "Communicator", &o->gpus},
      {"--copies", "N", "use N copies of the machine on one network (default 1)", "Communicator", &o->copies},
      {"--nccl", "VERSION", "NCCL release whose rules apply, 2.18 to 2.30 (default 2.30)", "Rules", &o->version},
      {"--env", "NCCL_X=Y", "set a variable of NCCL; may be given several times", "Rules", &o->env},
      {"--cross-nic", "0|1|2", "NCCL_CROSS_NIC (default: 0 on a fabric of rails, otherwise NCCL's default 2)", "Rules",
       &o->cross_nic},
      {"--no-nvls", "", "NCCL_NVLS_ENABLE=0", "Rules", &o->no_nvls},
      {"--collnet", "", "NCCL_COLLNET_ENABLE=1, on a network whose switches reduce", "Rules", &o->collnet},
      {"--no-pxn", "", "NCCL_PXN_DISABLE=1", "Rules", &o->no_pxn},
      {"--svg", "FILE", "draw the channels", "Files", &o->svg},
      {"--nccl-graph", "FILE", "write the graphs of the first node for NCCL_GRAPH_FILE", "Files", &o->graph},
  };
  c.flags.push_back(cluster_flag(o->cluster));
  add_common_flags(c, o->common, Engines::kNone);
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
