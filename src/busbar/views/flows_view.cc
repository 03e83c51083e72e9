// Flows by fair sharing, or packet by packet.
#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/quantity.h"
#include "busbar/questions/flows_question.h"
#include "busbar/views/bound_words.h"
#include "busbar/views/flow_tables.h"
#include "busbar/views/packet_flows_document.h"
#include "busbar/views/policy_words.h"
#include "busbar/views/topology_drawing.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::FlowsAnswer;
using questions::FlowsRequest;
using questions::FluidResult;
using questions::FluidRun;
using questions::PacketFlowsResult;

/// What the last flow waits for: other flows, or its own link.
std::string last_words(const FluidRun& r) {
  const engine::FlowOutcome& x = r.last();
  const lowering::Bound bound = questions::bound_of(x);
  const auto shared = std::find_if(r.result.links.begin(), r.result.links.end(),
                                   [&](const engine::LinkUse& u) { return u.link == bound.link; });
  if (bound.kind != lowering::BoundKind::kBandwidth || x.sharing <= x.transfer || shared == r.result.links.end())
    return fmt::format("The last flow is limited by {}.", bound_to_text(bound, r.machine->topology));
  return fmt::format(
      "The last flow ({}) took {}, {} times as long as alone: it lost {} to others, most at {}, which {} flows cross.",
      r.named.ids[static_cast<std::size_t>(&x - r.result.flows.data())], format_duration(x.fct.in_s()),
      format_number(x.fct.in_us() / (x.latency + x.transfer).in_us(), 2), format_duration(x.sharing.in_s()),
      r.machine->topology.name(bound.link), shared->flows);
}

report::Document fluid_document(const FluidResult& result) {
  const FluidRun& r = *result.run;
  const topology::Topology& t = r.machine->topology;
  report::Document d{fmt::format("{} flows on {}", r.result.flows.size(), result.cluster), {}, {}};
  d.add(report::Facts{
      d.title,
      {{"last flow ends after", format_duration(r.result.end.since_start().in_s())},
       {"busy time of the fullest link", format_duration(r.floor.in_s())},
       {"flow completion time", fmt::format("{} us median, {} us p99, {} us longest", format_number(r.fct_us(0.5), 4),
                                            format_number(r.fct_us(0.99), 4), format_number(r.fct_us(1), 4))}}});
  if (result.times.many()) d.add(fct_table(result.fct_by_size, r.by()));
  if (!result.jobs.empty()) d.add(jobs_table(result.jobs));
  report::Table slow{"Slowest flows",
                     {report::to_left("flow"), "start (us)", "fct (us)", "latency (us)", "transfer (us)",
                      "sharing (us)", report::to_left("held by")}};
  for (std::size_t i = 0; i < std::min(kFlowRowsShown, r.by_fct.size()); ++i) {
    const engine::FlowOutcome& x = r.result.flows[r.by_fct[i]];
    slow.rows.push_back({r.named.ids[r.by_fct[i]], format_number(x.start.since_start().in_us(), 4),
                         format_number(x.fct.in_us(), 4), format_number(x.latency.in_us()),
                         format_number(x.transfer.in_us(), 4), format_number(x.sharing.in_us(), 4),
                         x.held_by == kNone<topology::LinkId> ? "latency of its links" : t.name(x.held_by)});
  }
  slow.note =
      "fct: flow completion time, from start to arrival; transfer: alone, at the rate of the narrowest link; sharing: "
      "extra time because of other flows.";
  d.add(slow);
  report::Table links{"Fullest links", {report::to_left("link"), "flows", "MB", "in use (% of the time)"}};
  for (std::size_t i = 0; i < std::min(kFlowRowsShown, r.busiest.size()); ++i) {
    const engine::LinkUse& u = r.busiest[i];
    links.rows.push_back(
        {t.name(u.link), std::to_string(u.flows), format_number(u.bytes / 1e6), format_number(100 * r.mean_use(u))});
  }
  d.add(links);
  LinkHeat heat{std::vector<double>(t.link_count(), 0.0), "until the last flow ends"};
  for (const engine::LinkUse& u : r.result.links) heat.load[index(u.link)] = r.mean_use(u);
  for (report::Drawing& picture : draw_loads(t, heat)) d.add(std::move(picture), report::Audience::kPage);
  d.add(report::Highlight{last_words(r)});
  if (!r.warning.empty()) d.add(report::Paragraph{r.warning + "."});
  d.add(report::Paragraph{predict::words_of(r.band)});
  if (result.shortcuts) d.add(shortcut_words(*result.shortcuts));
  return d;
}

report::Document flows_document(const FlowsRequest&, const FlowsAnswer& a) {
  const auto* const packets = std::get_if<PacketFlowsResult>(&a);
  return packets != nullptr ? packet_flows_document(*packets) : fluid_document(std::get<FluidResult>(a));
}

}  // namespace

View flows_view() { return make_view("flows", flows_document); }

}  // namespace busbar::views
