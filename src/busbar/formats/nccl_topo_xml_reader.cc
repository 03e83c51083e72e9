#include "busbar/formats/nccl_topo_xml_reader.h"

#include "busbar/formats/internal/nccl_topo_xml_elements.h"

namespace busbar::formats {

Result<ImportedMachine> read_nccl_topo_xml(std::string_view text, const std::string& name,
                                           const topology::PartFigures& figures) {
  BUSBAR_ASSIGN(const XmlElement root, parse_xml(text, name));
  BUSBAR_ASSIGN(machine_records::Records records, machine_records::read_records(root));
  return machine_records::build_machine(std::move(records), figures, name);
}

}  // namespace busbar::formats
