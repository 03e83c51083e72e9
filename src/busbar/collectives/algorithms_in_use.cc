#include "busbar/collectives/algorithms.h"

namespace busbar {

std::span<const Algorithm> algorithms() { return registered_algorithms(); }

}  // namespace busbar
