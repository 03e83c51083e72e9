// Turns the elements of a topology file into checked records. Part of the work of nccl_topo_xml_reader.h.
#pragma once

#include "busbar/base/xml.h"
#include "busbar/formats/internal/machine_records.h"

namespace busbar::formats::machine_records {

/// Error kInvalid for values that contradict their meaning and for bus ids that occur twice.
Result<Records> read_records(const XmlElement& system);

}  // namespace busbar::formats::machine_records
