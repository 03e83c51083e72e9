// Changes of a step, in results: levers, what parts are worth, and compression of gradients.
#pragma once

#include "busbar/base/record.h"
#include "busbar/step/compression_table.h"
#include "busbar/step/free_parts.h"
#include "busbar/step/levers.h"

namespace busbar::step {

const Record& record_of(const FreePart*);
const Record& record_of(const Lever*);
const Record& record_of(const CompressionRow*);
const Record& record_of(const CompressionTable*);

}  // namespace busbar::step
