// Which actors must hear of a step.
#pragma once

#include "busbar/runtime/executable.h"

namespace busbar::runtime {

/// Per step: the other actors that wait for it, or to whose memory it writes, each once, smallest first.
Csr<std::uint32_t> told_of(const Executable& program);

}  // namespace busbar::runtime
