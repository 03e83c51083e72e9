#include "busbar/cli/band.h"

namespace busbar {

Band collective_band(const Cluster& cluster) {
  if (cluster.gpu_part.empty()) return {0, 0, "ideal machine: exact for its stated rates and latencies, no measurement behind it"};
  return {-50, 50, "rates and overheads from published figures; docs/accuracy.md compares a few measured tables"};
}

}  // namespace busbar
