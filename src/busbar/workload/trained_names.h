// What a layout trains and how, in the words of its keys.
#pragma once

#include "busbar/workload/adapters.h"
#include "busbar/workload/optimizer.h"

namespace busbar::workload {

const char* name_of(BaseWeights b);    ///< "nf4"
const char* name_of(OptimizerKind k);  ///< "muon"
const char* name_of(MomentKind m);     ///< "int8"

}  // namespace busbar::workload
