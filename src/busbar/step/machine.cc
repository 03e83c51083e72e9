#include "busbar/step/machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "busbar/base/input.h"
#include "busbar/formats/import.h"
#include "busbar/predict/packet_words.h"
#include "busbar/spec/cluster_writer.h"
#include "busbar/spec/fabric_words.h"
#include "busbar/spec/part_figures_file.h"

namespace busbar::step {
namespace {

/// A YAML name means a file of ours, unless its content looks like another program's.
bool is_yaml(const std::string& name) { return name.ends_with(".yaml") || name.ends_with(".yml"); }

/// The entry of catalog/protocols for GPUs of that compute capability (times ten).
const char* protocol_for(int capability) {
  if (capability >= 100) return "nccl-blackwell";
  if (capability >= 90) return "nccl-hopper";
  return capability >= 80 ? "nccl-ampere" : "nccl-volta";
}

/// The protocol of the GPUs: by their product, or by their generation; empty if the file gives neither.
std::string protocol_of(const formats::ImportedMachine& machine, const topology::PartFigures& figures) {
  std::string out;
  for (const topology::DeviceId gpu : machine.topology.gpus()) {
    const topology::DeviceClass& c = machine.topology.device_class(gpu);
    for (const topology::PartFigures::Gpu& known : figures.gpus)
      if (!c.part.empty() && known.device_class.part == c.part && !known.protocol.empty()) return known.protocol;
    if (!c.architecture.empty()) return "rccl-cdna";
    if (out.empty() && c.compute_capability > 0) out = protocol_for(c.compute_capability);
  }
  return out;
}

Result<spec::Cluster> adopt(formats::ImportedMachine machine, const std::string& name, std::string text,
                            const topology::PartFigures& figures, const spec::Overrides& overrides) {
  if (!machine.unnamed.empty()) return invalid(machine.unnamed, {name, 0, 0, ""});
  const std::string protocol = protocol_of(machine, figures);
  BUSBAR_ASSIGN(spec::Cluster cluster,
                spec::adopt_topology(std::move(machine.topology), name, std::move(text), protocol, overrides));
  for (const std::string& note : machine.notes) cluster.sources.push_back("assumed: " + note);
  cluster.assumptions = std::move(machine.notes);
  return cluster;
}

Result<spec::Cluster> import_machine(const formats::FormatEntry& format, std::string_view text, const std::string& name,
                                     const spec::Overrides& overrides) {
  BUSBAR_ASSIGN(topology::PartFigures figures, catalog_part_figures(overrides.catalog));
  figures.given_gpu = overrides.gpu;
  BUSBAR_ASSIGN(formats::ImportedMachine machine, format.machine(text, name, figures));
  if (machine.topology.gpus().empty())
    return invalid("there is no GPU in this file; 'busbar import' shows its content", {name, 0, 0, ""});
  return adopt(std::move(machine), name, std::string(text), figures, overrides);
}

Result<spec::Cluster> load_any(const std::string& name, const spec::Overrides& overrides) {
  if (!names_input(name)) return spec::load_cluster(name, overrides);
  BUSBAR_ASSIGN(formats::ImportSource source, formats::ImportSource::open(name));
  const formats::FormatEntry* format = formats::find_format(source.head());
  if (is_yaml(name) && (format == nullptr || format->machine == nullptr)) return spec::load_cluster(name, overrides);
  if (format == nullptr && source.head().starts_with('<'))
    return invalid("is XML of an unknown kind; 'busbar import' lists the known kinds", {name, 0, 0, ""});
  if (format == nullptr) return spec::load_cluster(name, overrides);
  if (format->machine == nullptr)
    return invalid(
        fmt::format("does not describe a machine but is a file of kind {}; 'busbar import' shows its content",
                    format->kind),
        {name, 0, 0, ""});
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  return import_machine(*format, text, name, overrides);
}

}  // namespace

namespace {

/// Whether `chips` are whole cubes, several and not more than a pod has, that optical switches join.
bool in_one_pod(const spec::OpticalSwitches& ocs, std::uint32_t all, std::uint32_t chips) {
  return ocs.cubes > 0 && chips > all && chips % ocs.chips_in_cube() == 0 && chips / ocs.chips_in_cube() <= ocs.cubes;
}

}  // namespace

Status take_servers(std::uint32_t gpus, std::string& name, spec::Overrides& overrides) {
  const bool preset = !names_input(name) && !is_yaml(name) && !name.starts_with('{');
  if (preset && overrides.nodes > 0 && name.find(':') == std::string::npos)
    name += fmt::format(":{}", std::exchange(overrides.nodes, 0));
  if (gpus == 0) return {};
  spec::Overrides sound = overrides;  // faults may name servers that a preset without a size does not have yet
  sound.degrade.clear();
  sound.fail.clear();
  BUSBAR_ASSIGN(const spec::Cluster own, load_machine(name, sound));
  const auto all = static_cast<std::uint32_t>(own.topology.gpus().size());
  const auto has = static_cast<std::uint32_t>(std::max<std::size_t>(1, own.topology.blocks().size()));
  const bool open = preset && name.find(':') == std::string::npos;
  if (open && in_one_pod(own.ocs, all, gpus)) {
    BUSBAR_ASSIGN(const std::vector<spec::FabricWord> shapes, spec::torus_shapes(own, gpus));
    overrides.set.push_back("node.shape=" + shapes[0].shape);
    return {};
  }
  if (gpus > all && !open) return spec::too_many_gpus("--gpus", gpus, own, overrides);
  const std::uint32_t unit = std::max(1u, all / has), nodes = gpus / unit + (gpus % unit > 0 ? 1 : 0);
  if (preset)
    name = fmt::format("{}:{}", name.substr(0, name.find(':')), nodes);
  else if (nodes < has)
    overrides.nodes = nodes;
  return {};
}

Result<topology::PartFigures> catalog_part_figures(const std::string& catalog_directory) {
  const spec::Catalog catalog(catalog_directory);
  spec::Reading reading(catalog);
  return spec::read_part_figures(reading);
}

Result<spec::Cluster> load_machine(const std::string& name, const spec::Overrides& overrides) {
  BUSBAR_ASSIGN(spec::Cluster out, load_any(name, overrides));
  BUSBAR_RETURN_IF_ERROR(predict::read_packet_settings(out.packet));
  return out;
}

Result<std::string> machine_yaml(const std::string& name, const spec::Cluster& loaded,
                                 const spec::Overrides& overrides) {
  if (name.empty()) return spec::topology_yaml(loaded);
  if (!names_input(name)) return spec::cluster_yaml(name, overrides);
  BUSBAR_ASSIGN(formats::ImportSource source, formats::ImportSource::open(name));
  const formats::FormatEntry* format = formats::find_format(source.head());
  return format != nullptr && format->machine != nullptr ? spec::topology_yaml(loaded)
                                                         : spec::cluster_yaml(name, overrides);
}

Result<std::string> gpu_of_machine(const std::string& name, const spec::Overrides& overrides) {
  BUSBAR_ASSIGN(const spec::Cluster machine, load_machine(name, overrides));
  return machine.gpu_part;
}

Result<spec::Cluster> read_machine(const std::string& text, const std::string& name, const spec::Overrides& overrides) {
  const formats::FormatEntry* const format = formats::find_format(text);
  if (format == nullptr || format->machine == nullptr)
    return invalid("does not describe a machine; 'busbar import' lists the known kinds", {name, 0, 0, ""});
  return import_machine(*format, text, name, overrides);
}

const char* gpus_in_words(const topology::Topology& topology) {
  if (topology.gpus().empty()) return "GPUs";
  return topology.name(topology.gpus().front()).find("chip") == std::string::npos ? "GPUs" : "chips";
}

}  // namespace busbar::step
