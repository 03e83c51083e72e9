// Reports of files that describe a network.
#include <fmt/core.h>

#include <map>

#include "busbar/base/json.h"
#include "busbar/formats/internal/ib_fabric.h"
#include "busbar/formats/internal/import_reports.h"
#include "busbar/formats/internal/slurm_topology.h"
#include "busbar/topology/levels.h"

namespace busbar::formats {
namespace {

Json counts_of(const topology::Topology& t) {
  Json counts{{"hosts", t.blocks().size()}};
  for (const auto& [kind, n] : topology::device_counts(t)) counts[topology::name_of(kind)] = n;
  return counts;
}

ImportReport describe(ImportedFabric f) {
  ImportReport report;
  Json& found = report.found;
  found["counts"] = counts_of(f.topology);
  found["cables"] = f.cables.size();
  found["unconnected_ports"] = f.unconnected;
  std::map<std::string, std::uint64_t> speeds;
  Json remarks = Json::array();
  for (const FabricCable& c : f.cables) {
    ++speeds[fmt::format("{}x {}", c.width, c.speed)];
    if (!c.remark.empty()) remarks.push_back({{"line", c.line}, {"remark", c.remark}});
  }
  found["speeds"] = speeds;
  if (!remarks.empty()) found["remarks"] = remarks;
  found["hosts"] = f.hosts;
  Json switches = Json::array();
  std::uint64_t sharp = 0;
  for (const FabricDevice& d : f.devices) {
    sharp += d.aggregates;
    if (d.is_switch)
      switches.push_back({{"name", d.name},
                          {"description", d.description},
                          {"guid", fmt::format("0x{:016x}", d.guid)},
                          {"ports", d.ports}});
  }
  found["switches"] = switches;
  found["sharp_nodes"] = sharp;
  report.notes = std::move(f.notes);
  report.unknown = std::move(f.unknown);
  return report;
}

}  // namespace

Result<ImportReport> report_ibnetdiscover(ImportSource& source) {
  BUSBAR_ASSIGN(LineSource lines, source.lines());
  BUSBAR_ASSIGN(ImportedFabric fabric, read_ibnetdiscover(lines));
  return describe(std::move(fabric));
}

Result<ImportReport> report_iblinkinfo(ImportSource& source) {
  BUSBAR_ASSIGN(LineSource lines, source.lines());
  BUSBAR_ASSIGN(ImportedFabric fabric, read_iblinkinfo(lines));
  return describe(std::move(fabric));
}

Result<ImportReport> report_slurm(ImportSource& source) {
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(SlurmTopology slurm, read_slurm_topology(text, source.name()));
  ImportReport report;
  Json& found = report.found;
  found["counts"] = counts_of(slurm.topology);
  found["switches"] = Json::array();
  for (const SlurmSwitch& s : slurm.switches)
    found["switches"].push_back({{"name", s.name},
                                 {"kind", s.is_block ? "block" : "switch"},
                                 {"nodes", s.nodes.size()},
                                 {"switches", s.switches},
                                 {"line", s.line}});
  if (!slurm.block_sizes.empty()) found["block_sizes"] = slurm.block_sizes;
  found["hosts"] = slurm.hosts;
  report.notes = std::move(slurm.notes);
  report.unknown = std::move(slurm.unknown);
  return report;
}

}  // namespace busbar::formats
