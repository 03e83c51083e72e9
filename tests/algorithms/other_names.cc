// The algorithms of this test program: the registered ones, each also under a meaningless name, and one more. Linked
// instead of collectives/algorithms_in_use.cc.
#include "other_names.h"

#include <bit>
#include <vector>

#include "busbar/collectives/algorithms.h"

namespace busbar::collectives {

Result<Schedule> build_bidirectional_ring(const ScheduleSpec& spec);

std::string other_name(const std::string& name) { return "other_" + std::to_string(name.size()) + name.substr(0, 2); }

bool is_power_of_two(std::uint32_t n) { return std::has_single_bit(n); }

std::span<const RegisteredAlgorithm> algorithms() {
  static const auto names = [] {
    std::vector<std::string> out;
    for (const RegisteredAlgorithm& a : registered_algorithms()) out.push_back(other_name(std::string(a.name)));
    return out;
  }();
  static const auto all = [] {
    const auto registered = registered_algorithms();
    std::vector<RegisteredAlgorithm> out(registered.begin(), registered.end());
    for (std::size_t i = 0; i < registered.size(); ++i) {
      out.push_back(registered[i]);
      out.back().name = names[i];
    }
    using enum Collective;
    out.push_back({"bidirectional_ring",
                   set_of(kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce),
                   &build_bidirectional_ring,
                   {.takes_orders = true, .channels_per_order = 2, .sends_flags = true}});
    out.push_back(
        {"halves_of_powers", set_of(kAllReduce), registered[2].build, {}, {is_power_of_two, "a power of two"}});
    return out;
  }();
  return all;
}

}  // namespace busbar::collectives
