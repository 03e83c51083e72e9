#include "busbar/lowering/chain_part.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace busbar::lowering {

const char* name_of(ChainPartKind kind) {
  constexpr const char* kNames[] = {"launch", "latency", "bandwidth", "sharing"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(ChainPartKind::kSharing) + 1);
  return kNames[static_cast<std::size_t>(kind)];
}

double sum_ps(const std::vector<ChainPart>& parts) {
  double sum = 0;
  for (const ChainPart& p : parts) sum += p.ps;
  return sum;
}

void close_sum(std::vector<ChainPart>& parts, double total_ps, topology::LinkId busiest, const std::string& phase) {
  constexpr double kRoundOff = 1e-9;  // of the time
  const double left = total_ps - sum_ps(parts);
  if (left > kRoundOff * total_ps + 2) {  // 2 ps: times are whole picoseconds
    ChainPart p;
    p.kind = ChainPartKind::kSharing;
    p.phase = phase;
    p.link = busiest;
    p.ps = left;
    parts.push_back(std::move(p));
    return;
  }
  const auto longest =
      std::max_element(parts.begin(), parts.end(), [](const ChainPart& a, const ChainPart& b) { return a.ps < b.ps; });
  if (longest != parts.end()) longest->ps += left;
}

}  // namespace busbar::lowering
