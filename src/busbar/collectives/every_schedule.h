// For tests: every algorithm x collective x ranks x root x division that has a schedule.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "busbar/collectives/builders.h"

namespace busbar::collectives {

struct BuiltCase {
  Schedule schedule;
  std::uint32_t group_size = 1;  ///< for hierarchical ones
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

inline bool rooted(Collective op) {
  return op == Collective::kBroadcast || op == Collective::kReduce || op == Collective::kGather ||
         op == Collective::kScatter;
}

inline bool all_to_all(Collective op) { return op == Collective::kAllToAll || op == Collective::kAllToAllV; }

/// Whether the algorithm depends on the size of groups.
inline bool grouped(const std::string& algorithm) {
  return traits_of(algorithm).names_levels || traits_of(algorithm).reduces_in_network;
}

/// Calls f(BuiltCase) for each schedule, with roots 0, 1, the middle and the last rank if there is a root.
/// All-to-all-v: one hot rank of three receives twice as much.
inline void for_every_schedule(const std::function<void(const BuiltCase&)>& f) {
  for (const std::uint32_t n : tested_ranks())
    for (int o = 0; o <= static_cast<int>(Collective::kAllToAllV); ++o) {
      ScheduleSpec spec;
      spec.op = static_cast<Collective>(o);
      spec.ranks = n;
      if (spec.op == Collective::kAllToAllV) spec.pairs.hot = n / 3, spec.pairs.hot_chunks = 2;
      std::set<std::uint32_t> roots{0};
      if (rooted(spec.op)) roots.insert({1 % n, n / 2, n - 1});
      for (const std::uint32_t root : roots) {
        spec.root = root;
        for (const std::string& algorithm : algorithm_names())
          for (std::uint32_t size = 1; size <= (grouped(algorithm) ? n : 1); ++size) {
            if (n % size != 0) continue;
            spec.algorithm = algorithm;
            spec.ranks_per_group = size;
            if (const auto s = build_schedule(spec); s.ok()) f({*s, size});
          }
      }
    }
}

/// More forms of the same algorithms, which have no row of their own: algorithms per level, three levels and
/// dimensions, several channels, orders, and counts by matrix.
inline void for_every_variant(const std::function<void(const BuiltCase&)>& f) {
  const auto offer = [&](ScheduleSpec spec, std::uint32_t size = 1) {
    for (int o = 0; o <= static_cast<int>(Collective::kSendRecv); ++o) {
      spec.op = static_cast<Collective>(o);
      for (const std::uint32_t root : {0u, spec.ranks / 2, spec.ranks - 1}) {
        spec.root = root;
        if (root > 0 && !rooted(spec.op)) continue;
        if (const auto s = build_schedule(spec); s.ok()) f({*s, size});
      }
    }
  };
  const std::vector<std::string> levels{"ring", "tree", "halving_doubling", "pat", "direct", "nvls"};
  for (const auto& [l, g] :
       std::vector<std::pair<std::uint32_t, std::uint32_t>>{{2, 2}, {3, 5}, {5, 3}, {4, 6}, {8, 8}})
    for (const std::string& inner : levels)
      for (const std::string& outer : levels) {
        ScheduleSpec spec;
        spec.algorithm = fmt::format("hierarchical({},{})", inner, outer);
        spec.ranks = l * g;
        spec.ranks_per_group = l;
        offer(spec, l);
        spec.ranks = l * g * 2;
        spec.dimensions = {l, 2, g};
        if (spec.ranks > 64) continue;
        spec.algorithm = fmt::format("hierarchical({},ring,{})", inner, outer);
        offer(spec, l);
      }
  for (const auto& dims : std::vector<std::vector<std::uint32_t>>{{5}, {3, 4}, {2, 3, 4}, {5, 1, 3}, {4, 4, 4}})
    for (const std::uint32_t channels : {0u, 1u, 3u}) {
      ScheduleSpec spec;
      spec.algorithm = "torus";
      spec.dimensions = dims;
      for (const std::uint32_t d : dims) spec.ranks *= d;
      spec.channels = channels;
      offer(spec);
      spec.starts.assign(2, static_cast<std::uint32_t>(dims.size()) - 1);
      spec.starts.push_back(0);
      offer(spec);
      spec.ranks_per_group = spec.ranks;  // three pods of this shape
      spec.ranks *= 3;
      if (spec.ranks <= 72) offer(spec);
      spec.starts.clear();
      if (spec.ranks <= 72) offer(spec);
    }
  for (const std::uint32_t n : {1u, 2u, 5u, 8u, 12u}) {
    ScheduleSpec spec;
    spec.ranks = n;
    spec.ranks_per_group = n % 2 == 0 ? n / 2 : n;
    for (const std::string& algorithm : algorithm_names()) {
      spec.algorithm = algorithm;
      spec.channels = 4;
      offer(spec, spec.ranks_per_group);
    }
    spec.channels = 0;
    for (std::uint32_t by : {1u, 2u, 3u}) {
      spec.orders.emplace_back();
      for (std::uint32_t i = 0; i < n; ++i) spec.orders.back().push_back((by == 2 ? n - i : i + by) % n);
    }
    for (const std::string& algorithm : algorithm_names()) {
      spec.algorithm = algorithm;
      if (traits_of(algorithm).takes_orders) offer(spec);
    }
    spec.orders.clear();
    for (std::uint32_t i = 0; i <= n * n; ++i) spec.pairs.begin.push_back(i * (i + 1) / 2 - i / 3);  // some are 0
    spec.op = Collective::kAllToAllV;
    spec.root = 0;
    for (const std::string& algorithm : algorithm_names()) {
      spec.algorithm = algorithm;
      if (const auto s = build_schedule(spec); s.ok()) f({*s});
    }
  }
}

}  // namespace busbar::collectives
