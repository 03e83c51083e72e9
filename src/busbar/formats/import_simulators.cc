// Reports of input files of other simulators.
#include <map>

#include "busbar/base/json.h"
#include "busbar/formats/internal/astra_ns3.h"
#include "busbar/formats/internal/astra_sim.h"
#include "busbar/formats/internal/import_reports.h"

namespace busbar::formats {
namespace {

const char* name_of(AstraBlock b) {
  return b == AstraBlock::kRing ? "ring" : b == AstraBlock::kSwitch ? "switch" : "fully connected";
}

}  // namespace

Result<ImportReport> report_astra_network(ImportSource& source) {
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(AstraNetwork network, read_astra_network(text, source.name()));
  BUSBAR_ASSIGN(ImportedMachine machine, machine_of(network));
  ImportReport report;
  Json& found = report.found;
  found["npus"] = network.npus;
  found["links"] = machine.topology.link_count() / 2;
  found["dimensions"] = Json::array();
  for (const AstraDimension& d : network.dimensions)
    found["dimensions"].push_back({{"kind", name_of(d.block)},
                                   {"npus", d.npus},
                                   {"GBps_per_direction", d.bandwidth * (1 << 30) / 1e9},
                                   {"latency_ns", d.latency_ns}});
  report.notes = std::move(machine.notes);
  report.unknown = std::move(machine.unknown);
  return report;
}

Result<ImportedMachine> read_astra_machine(std::string_view text, const std::string& name,
                                           const topology::PartFigures&) {
  BUSBAR_ASSIGN(const AstraNetwork network, read_astra_network(text, name));
  return machine_of(network);
}

Result<ImportReport> report_ns3_topology(ImportSource& source) {
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(const Ns3Topology topology, read_ns3_topology(text, source.name()));
  BUSBAR_ASSIGN(ImportedMachine machine, machine_of(topology));
  ImportReport report;
  Json& found = report.found;
  found["npus"] = machine.topology.gpus().size();
  found["switches"] = topology.is_switch.size() - machine.topology.gpus().size();
  found["links"] = topology.links.size();
  std::map<std::pair<std::uint64_t, std::int64_t>, std::uint64_t> kinds;
  for (const Ns3Link& l : topology.links) ++kinds[{static_cast<std::uint64_t>(l.rate), l.latency.in_ps()}];
  found["link_kinds"] = Json::array();
  for (const auto& [kind, number] : kinds)
    found["link_kinds"].push_back({{"GBps_per_direction", static_cast<double>(kind.first) / 1e9},
                                   {"latency_ns", static_cast<double>(kind.second) / 1e3},
                                   {"links", number}});
  report.notes = std::move(machine.notes);
  report.unknown = std::move(machine.unknown);
  return report;
}

Result<ImportedMachine> read_ns3_machine(std::string_view text, const std::string& name, const topology::PartFigures&) {
  BUSBAR_ASSIGN(const Ns3Topology topology, read_ns3_topology(text, name));
  return machine_of(topology);
}

Result<ImportReport> report_astra_system(ImportSource& source) {
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(AstraSystem system, read_astra_system(text, source.name()));
  ImportReport report;
  Json& found = report.found;
  if (!system.algorithms.empty()) found["algorithms_by_dimension"] = Json::object();
  for (const auto& [op, names] : system.algorithms) found["algorithms_by_dimension"][op] = names;
  if (!system.logical_dimensions.empty()) found["logical_dimensions"] = system.logical_dimensions;
  found["settings"] = Json::object();
  for (const auto& [key, value] : system.settings) found["settings"][key] = value;
  report.unknown = std::move(system.unknown);
  return report;
}

}  // namespace busbar::formats
