#include "busbar/cli/machine.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "busbar/formats/nccl_topo_xml_reader.h"
#include "busbar/spec/part_figures_file.h"

namespace busbar {
namespace {

bool looks_like_xml(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  char c = 0;
  file >> c;  // skips blanks
  return file && c == '<';
}

Result<Cluster> adopt(ImportedMachine machine, const std::string& name, std::string text, const Overrides& overrides) {
  bool amd = machine.version == 2;
  for (const DeviceId gpu : machine.topology.gpus())
    amd = amd || !machine.topology.device_class(gpu).architecture.empty();
  BUSBAR_ASSIGN(Cluster cluster, adopt_topology(std::move(machine.topology), name, std::move(text),
                                                amd ? "rccl-simple" : "nccl-simple", overrides));
  for (const std::string& note : machine.notes) cluster.sources.push_back("assumed: " + note);
  return cluster;
}

}  // namespace

Result<std::string> read_whole_file(const std::string& name) {
  std::error_code ignored;
  if (!std::filesystem::exists(name, ignored))
    return Error{ErrorCode::kNotFound, "there is no such file", {name, 0, 0, ""}};
  std::ifstream file(name, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return Error{ErrorCode::kIo, "cannot read this file", {name, 0, 0, ""}};
  return text;
}

Result<Cluster> load_machine(const std::string& name, const Overrides& overrides) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(name, ignored) || !looks_like_xml(name)) return load_cluster(name, overrides);
  BUSBAR_ASSIGN(std::string text, read_whole_file(name));
  const Catalog catalog(overrides.catalog);
  Reading reading(catalog);
  BUSBAR_ASSIGN(const PartFigures figures, read_part_figures(reading));
  BUSBAR_ASSIGN(ImportedMachine machine, read_nccl_topo_xml(text, name, figures));
  if (machine.topology.gpus().empty())
    return invalid("no GPU in this file; 'busbar import' shows what it holds", {name, 0, 0, ""});
  return adopt(std::move(machine), name, std::move(text), overrides);
}

}  // namespace busbar
