// For tests: every algorithm x collective x ranks x root x division that has a schedule.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "busbar/collectives/builders.h"

namespace busbar {

struct BuiltCase {
  Schedule schedule;
  std::uint32_t group_size = 1;  ///< of the hierarchical ones
  std::string text() const {
    return fmt::format("{} {} ranks {} root {} groups of {} chunks {}", schedule.algorithm, name_of(schedule.op),
                       schedule.ranks, schedule.root, group_size, schedule.chunks);
  }
};

inline std::vector<std::uint32_t> tested_ranks() {
  std::vector<std::uint32_t> out;
  for (std::uint32_t n = 1; n <= 17; ++n) out.push_back(n);
  for (const std::uint32_t n : {24u, 32u, 64u, 72u}) out.push_back(n);
  return out;
}

inline bool rooted(Collective op) { return op == Collective::kBroadcast || op == Collective::kReduce; }

/// Calls f(BuiltCase) for each, with roots 0, 1, the middle and the last rank where there is a root.
inline void for_every_schedule(const std::function<void(const BuiltCase&)>& f) {
  for (const std::uint32_t n : tested_ranks())
    for (int o = 0; o <= static_cast<int>(Collective::kSendRecv); ++o) {
      const auto op = static_cast<Collective>(o);
      std::set<std::uint32_t> roots{0};
      if (rooted(op)) roots.insert({1 % n, n / 2, n - 1});
      for (const std::uint32_t root : roots) {
        for (const char* algorithm : {"ring", "tree", "direct"})
          if (const auto s = build_schedule(algorithm, op, n, 1, root); s.ok()) f({*s});
        for (std::uint32_t size = 1; size <= n; ++size) {
          if (n % size != 0) continue;
          if (const auto s = build_schedule("hierarchical", op, n, size, root); s.ok()) f({*s, size});
        }
      }
    }
}

}  // namespace busbar
