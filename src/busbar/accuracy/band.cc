#include "busbar/accuracy/band.h"

namespace busbar {
namespace {

/// Errors of the prediction seen against measured tables, as (1 / (1 + error) - 1) of it; docs/accuracy.md, 2026-11.
struct SizeBand {
  std::uint64_t from_bytes;
  double low_percent, high_percent;
};
constexpr SizeBand kSeen[] = {{std::uint64_t{64} << 20, -24, 44}, {std::uint64_t{1} << 20, -4, 93}, {0, -57, 87}};

}  // namespace

Band collective_band(const Cluster& cluster, Bytes size) {
  if (cluster.gpu_part.empty())
    return {0, 0, "ideal machine: exact for its stated rates and latencies, no measurement behind it"};
  for (const SizeBand& b : kSeen)
    if (count(size) >= b.from_bytes)
      return {b.low_percent, b.high_percent,
              "widest errors against 14 measured tables of DGX A100 and H100, docs/accuracy.md"};
  return {};
}

}  // namespace busbar
