#include "busbar/predict/prediction.h"

#include <fmt/core.h>

#include <iterator>

#include "busbar/base/quantity.h"

namespace busbar::predict {

const char* name_of(ChosenBy chosen_by) {
  constexpr const char* kNames[] = {"given", "nccl", "fastest"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(ChosenBy::kFastest) + 1);
  return kNames[static_cast<std::size_t>(chosen_by)];
}

std::string how_of(const Prediction& p) {
  return fmt::format("{}, {}", p.call.algorithm, program::name_of(p.protocol()));
}

std::string limit_of(const Prediction& p, const topology::Topology& topology) {
  if (!p.cause.empty()) return p.cause;
  if (p.bound.link == kNone<topology::LinkId>) return "";
  const topology::LinkClass& c = topology.link_class(p.bound.link);
  return fmt::format("{} of {}", p.bound.kind == lowering::BoundKind::kBandwidth ? "bandwidth" : "latency",
                     c.part.empty() ? topology::name_of(c.kind) : c.part);
}

double bus_factor(collectives::Collective op, double n) {
  switch (op) {
    case collectives::Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case collectives::Collective::kAllGather:
    case collectives::Collective::kReduceScatter:
    case collectives::Collective::kAllToAll:
    case collectives::Collective::kGather:
    case collectives::Collective::kScatter:
      return (n - 1) / n;
    default:
      return 1;
  }
}

double sent_by_group(collectives::Collective op, double n) {
  switch (op) {
    case collectives::Collective::kAllReduce:
    case collectives::Collective::kAllGather:
    case collectives::Collective::kReduceScatter:
    case collectives::Collective::kAllToAll:
      return n * bus_factor(op, n);
    case collectives::Collective::kAllToAllV:  // as if every member sent as much as the busiest
    case collectives::Collective::kBroadcast:
    case collectives::Collective::kReduce:
      return n - 1;
    default:
      return bus_factor(op, n);
  }
}

std::string below_floor(Duration predicted, Duration floor, const std::string& what) {
  constexpr double kRounded_ps = 4, kRoundedShare = 1e-9;
  const auto least_ps = static_cast<double>(floor.in_ps());
  if (static_cast<double>(predicted.in_ps()) >= least_ps * (1 - kRoundedShare) - kRounded_ps) return "";
  return fmt::format("{}: predicted {} is {} below the physical floor; this is a bug of busbar, please report it", what,
                     format_duration(predicted.in_s()), format_duration((floor - predicted).in_s()));
}

}  // namespace busbar::predict
