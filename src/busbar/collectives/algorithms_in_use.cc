#include "busbar/collectives/algorithms.h"

namespace busbar::collectives {

std::span<const RegisteredAlgorithm> algorithms() { return registered_algorithms(); }

}  // namespace busbar::collectives
