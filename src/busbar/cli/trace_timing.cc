#include "busbar/cli/trace_timing.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"

namespace busbar {
namespace {

/// Why a call cannot be timed; empty: it can.
std::string obstacle(const TracedCall& c, std::size_t gpus) {
  if (!c.op) return "an unknown collective";
  if (c.bytes == 0) return "its size was not recorded";
  if (c.ranks > gpus || std::any_of(c.members.begin(), c.members.end(), [&](std::uint32_t r) { return r >= gpus; }))
    return "more ranks than GPUs";
  return {};
}

Result<Prediction> time_call(const TracedCall& c, Predictor& machine) {
  CollectiveCall call = call_over(*c.op, Bytes{c.bytes}, c.ranks > 0 ? c.ranks : machine.ranks());
  if (!c.members.empty()) {
    call.groups = {};
    call.groups.listed = c.members;
    call.groups.listed_groups = 1;
  }
  return machine.time(call, {.relief = false});
}

}  // namespace

Status time_trace(const CommTrace& trace, Predictor& machine, Json& json, Document& document) {
  const Cluster& cluster = machine.cluster();
  Table t{"On " + cluster.name,
          {to_left("collective"), "bytes", "ranks", "times", "fastest (us)", "predicted (us)", "floor (us)",
           "fastest/floor", to_left("bound by")}};
  json = {{"cluster", cluster.name}, {"results", Json::array()}, {"not_timed", Json::object()}};
  double floor_us = 0, measured_us = 0;
  bool suspicious = false;
  for (const TracedCall& c : alike(trace)) {
    std::string why = obstacle(c, cluster.topology.gpus().size());
    const Result<Prediction> timed = why.empty() ? time_call(c, machine) : invalid(why);
    if (!timed.ok()) {
      Json& n = json["not_timed"][timed.error().message];
      n = (n.is_null() ? 0 : static_cast<std::uint64_t>(n.number())) + c.times;
      continue;
    }
    const bool measured = c.fastest_us > 0;
    const double floor = timed->floor.time.in_us(), ratio = c.fastest_us / std::max(1e-9, floor);
    suspicious = suspicious || (measured && ratio < 1);
    json["results"].push_back({{"collective", c.what},
                               {"size_bytes", c.bytes},
                               {"ranks", c.ranks > 0 ? Json(c.ranks) : Json()},
                               {"times", c.times},
                               {"measured_us", measured ? Json(c.fastest_us) : Json()},
                               {"measured_median_us", measured ? Json(c.median_us) : Json()},
                               {"predicted_us", timed->time.in_us()},
                               {"algorithm", timed->algorithm},
                               {"floor_us", floor},
                               {"above_floor_percent", measured ? Json(100 * (ratio - 1)) : Json()},
                               {"bound_by", bound_to_json(timed->bound, cluster.topology)}});
    t.rows.push_back({c.what, std::to_string(c.bytes), c.ranks > 0 ? std::to_string(c.ranks) : "all",
                      std::to_string(c.times), measured ? format_number(c.fastest_us, 4) : "-",
                      format_number(timed->time.in_us(), 4), format_number(floor, 4),
                      measured ? format_number(ratio) : "-", bound_in_short(timed->bound, cluster.topology)});
    if (!measured) continue;
    measured_us += c.median_us * static_cast<double>(c.times);
    floor_us += floor * static_cast<double>(c.times);
  }
  t.note = "fastest: of all equal calls, because a kernel that starts early waits for the other ranks.";
  if (!t.rows.empty()) document.add(t);
  if (floor_us > 0) {
    json["measured_over_floor"] = measured_us / floor_us;
    document.blocks.push_back(
        {Highlight{fmt::format("Kernels took {} us in total, {} times their floors.", format_number(measured_us, 4),
                               format_number(measured_us / floor_us))}});
  }
  if (suspicious)
    document.add(Paragraph{
        "Some are faster than this machine can be: the trace comes from another one, or its sizes are wrong."});
  for (const auto& [why, n] : json["not_timed"].members())
    document.add(Paragraph{fmt::format("Not timed: {}, {} times.", why, n.dump())});
  return {};
}

}  // namespace busbar
