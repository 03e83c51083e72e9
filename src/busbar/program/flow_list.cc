#include "busbar/program/flow_list.h"

#include "busbar/base/grouped.h"

namespace busbar::program {

Csr<std::uint32_t> successors_of(const FlowList& list) { return inverted(list.after); }

}  // namespace busbar::program
