// How accurate the memory of a step is.
#pragma once

#include "busbar/predict/band.h"

namespace busbar::predict {

/// Nine tenths of published peaks are within this band of the predicted memory: catalog/accuracy/memory.yaml.
Result<Band> memory_band(const spec::Catalog& catalog);

}  // namespace busbar::predict
