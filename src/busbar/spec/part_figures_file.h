// Catalogue figures of parts that foreign files identify by number: GPUs, lanes, processors.
#pragma once

#include "busbar/spec/reading.h"
#include "busbar/topology/part_figures.h"

namespace busbar::spec {

/// From catalog/gpus, links, processors and networks. Cost: parses all GPUs and processors, some milliseconds.
Result<topology::PartFigures> read_part_figures(Reading& reading);

}  // namespace busbar::spec
