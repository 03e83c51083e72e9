#include "busbar/collectives/algorithms.h"

namespace busbar {

std::span<const RegisteredAlgorithm> algorithms() { return registered_algorithms(); }

}  // namespace busbar
