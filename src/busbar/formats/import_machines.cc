// Reports of files that describe one machine.

#include "busbar/base/json.h"
#include "busbar/formats/internal/import_reports.h"
#include "busbar/formats/nccl_graph_xml.h"
#include "busbar/topology/levels.h"
#include "busbar/topology/matrix.h"

namespace busbar::formats {
namespace {

/// Lanes of a device's outgoing links of one kind.
std::uint32_t lanes_of(const topology::Topology& t, topology::DeviceId d, bool scale_up) {
  std::uint32_t n = 0;
  for (const topology::LinkId l : t.out_links(d))
    if (topology::is_scale_up(t.link_class(l).kind) == scale_up && t.link_class(l).kind != topology::LinkKind::kC2c)
      n += scale_up || t.link_class(l).kind == topology::LinkKind::kPcie ? t.link_class(l).lanes : 0;
  return n;
}

Json gpus_of(const ImportedMachine& m) {
  Json list = Json::array();
  for (const topology::DeviceId g : m.topology.gpus()) {
    const ImportedDevice& said = m.devices[index(g)];
    const topology::DeviceClass& c = m.topology.device_class(g);
    Json j{{"name", m.topology.name(g)}, {"bus_id", said.bus_id}, {"numa", m.topology.numa(g)}};
    if (said.rank >= 0) j["rank"] = said.rank;
    if (said.dev >= 0) j["dev"] = said.dev;
    if (!c.part.empty()) j["part"] = c.part;
    if (c.compute_capability > 0) j["compute_capability"] = c.compute_capability / 10.0;
    if (!c.architecture.empty()) j["architecture"] = c.architecture;
    j["scale_up_lanes"] = lanes_of(m.topology, g, true);
    j["pcie_lanes"] = lanes_of(m.topology, g, false);
    list.push_back(std::move(j));
  }
  return list;
}

Json ports_of(const ImportedMachine& m) {
  Json list = Json::array();
  for (const ImportedPort& p : m.ports) {
    Json j{{"name", p.name}, {"nic", m.topology.name(p.nic)}, {"numa", m.topology.numa(p.nic)}};
    if (p.dev >= 0) j["dev"] = p.dev;
    if (p.speed_mbps > 0) j["speed_GBps"] = p.speed_mbps / 8000.0;
    if (p.gdr >= 0) j["gpudirect"] = p.gdr != 0;
    list.push_back(std::move(j));
  }
  return list;
}

}  // namespace

ImportReport report_of(ImportedMachine m) {
  ImportReport report;
  Json& found = report.found;
  Json counts = Json::object();
  for (const auto& [kind, n] : topology::device_counts(m.topology)) counts[topology::name_of(kind)] = n;
  found["counts"] = counts;
  found["gpus"] = gpus_of(m);
  found["ports"] = ports_of(m);
  const topology::RelationMatrix matrix = topology::relation_matrix(m.topology, topology::BlockId{0});
  found["matrix"] = {{"names", matrix.names}, {"cells", matrix.cells}};
  report.notes = std::move(m.notes);
  report.unknown = std::move(m.unknown);
  return report;
}

Result<ImportReport> report_nccl_graph(ImportSource& source) {
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(NcclGraphFile file, read_nccl_graph_xml(text, source.name()));
  ImportReport report;
  Json graphs = Json::array();
  for (const NcclGraphRecord& g : file.graphs) {
    Json channels = Json::array();
    for (const NcclGraphChannel& c : g.channels) {
      Json order = Json::array();
      for (const NcclGraphChannel::Gpu& gpu : c.gpus) order.push_back(gpu.dev);
      Json j{{"gpus", order}};
      if (c.net_in) j["net_in"] = *c.net_in;
      if (c.net_out) j["net_out"] = *c.net_out;
      channels.push_back(std::move(j));
    }
    graphs.push_back({{"kind", nccl_graph_name(g.id)},
                      {"pattern", g.pattern},
                      {"cross_nic", g.cross_nic},
                      {"intra_GBps", g.speed_intra},
                      {"inter_GBps", g.speed_inter},
                      {"type_intra", g.type_intra},
                      {"type_inter", g.type_inter},
                      {"same_channels", g.same_channels},
                      {"channels", channels}});
  }
  report.found["graphs"] = graphs;
  report.unknown = std::move(file.unknown);
  return report;
}

}  // namespace busbar::formats
