#include "busbar/views/schedule_table.h"

#include <fmt/core.h>

#include "busbar/base/quantity.h"
#include "busbar/views/bound_words.h"

namespace busbar::views {

report::Table schedule_table(const formats::ImportedSchedule& schedule, const std::vector<questions::ScheduleRow>& rows,
                             const spec::Cluster& cluster) {
  const collectives::ExecutionPlan& plan = schedule.plan;
  report::Table t{
      fmt::format("{} ({}) over {} GPUs of {}", plan.name, collectives::name_of(plan.op), plan.ranks, cluster.name),
      {"size (B)", "time (us)", "busbw (GB/s)", report::to_left("our fastest"), "its time (us)", "against ours (%)",
       "floor (us)", "above floor (%)", report::to_left("bound by")}};
  for (const questions::ScheduleRow& r : rows)
    t.rows.push_back({std::to_string(count(r.size)), format_number(r.time.in_us(), 4),
                      format_number(r.algbw() * predict::bus_factor(plan.op, plan.ranks)),
                      r.ours.empty() ? "-" : r.ours, r.ours.empty() ? "-" : format_number(r.ours_time.in_us(), 4),
                      r.ours.empty() ? "-" : fmt::format("{:+.1f}", r.against_ours_percent()),
                      format_number(r.floor.time.in_us(), 4), format_number(r.above_floor_percent()),
                      bound_in_short(r.bound, cluster.topology)});
  t.note =
      "GB/s is 1e9 bytes per second per direction. Messages of all steps share the links; the fastest number of loops "
      "is used; copies and additions inside a GPU cost nothing";
  t.note += fmt::format(". Protocol: {}.", schedule.protocol);
  for (const questions::ScheduleRow& r : rows)
    if (!r.warning.empty()) t.note += fmt::format(" At {}: {}.", format_binary_size(count(r.size)), r.warning);
  return t;
}

report::Facts messages_facts(const questions::MessagesResult& r, const topology::Topology& topology) {
  report::Facts facts;
  facts.title = fmt::format("On {}", r.cluster);
  facts.items = {{"time", format_number(r.time_us, 4) + " us"},
                 {"messages", fmt::format("{} of {} bytes in all", r.messages, r.bytes)},
                 {"longest chain",
                  fmt::format("{} us of work, {} us of bytes, {} us of latency", format_number(r.chain_us.work, 4),
                              format_number(r.chain_us.transfer, 4), format_number(r.chain_us.latency, 4))},
                 {"busiest link", format_number(r.algorithm_floor_us, 4) + " us at wire rate"},
                 {"bound by", r.messages > 0 ? bound_to_text(r.bound, topology) : "work"}};
  return facts;
}

}  // namespace busbar::views
