#include "busbar/cli/collective_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/bandwidth_charts.h"
#include "busbar/cli/packet_options.h"
#include "busbar/cli/session.h"
#include "busbar/step/machine.h"
#include "busbar/topology/levels.h"

namespace busbar {
namespace {

Json to_json(const ChainPart& p, Duration time, const Topology& t) {
  const auto member = [](std::uint32_t m) { return m == kNone32 ? Json() : Json(m); };
  Json j{{"kind", name_of(p.kind)},
         {"phase", p.phase},
         {"from_rank", member(p.from)},
         {"to_rank", member(p.to)},
         {"first_round", p.rounds > 0 ? Json(p.first_round) : Json()},
         {"rounds", p.rounds},
         {"link", nullptr},
         {"class", nullptr},
         {"time_us", p.ps * 1e-6},
         {"share_percent", 100 * p.ps / std::max(1.0, static_cast<double>(time.in_ps()))}};
  if (p.link == kNone<LinkId>) return j;
  j["link"] = t.name(p.link);
  j["class"] = link_class_name(p.link, t);
  return j;
}

/// The chain that limits the time, one line per part.
Table chain_table(const Prediction& row, const Topology& topology) {
  Table t{fmt::format("The chain that limits {}", format_binary_size(count(row.size()))),
          {to_left("part"), "us", "%", "ranks", "rounds", to_left("link"), to_left("phase")}};
  for (const ChainPart& p : row.chain) {
    const bool ranks = p.from != kNone32;
    t.rows.push_back({name_of(p.kind), format_number(p.ps * 1e-6, 4),
                      format_number(100 * p.ps / std::max(1.0, static_cast<double>(row.time.in_ps()))),
                      ranks ? fmt::format("{} -> {}", p.from, p.to) : "-",
                      p.rounds > 0 ? std::to_string(p.rounds) : "-",
                      p.link == kNone<LinkId> ? "-" : topology.name(p.link), p.phase});
  }
  t.note =
      "The parts are in sequence and sum to the time. ranks: where a part begins and ends; link: the narrowest one.";
  return t;
}

}  // namespace

const Prediction& summary_row(const std::vector<Prediction>& rows) {
  const Prediction* best = &rows.back();
  for (const Prediction& r : rows)
    if (r.size() == best->size() && r.time < best->time) best = &r;
  return *best;
}

/// Whether NCCL could take kernels on symmetric memory (registered windows, from 2.27 on), which are not modelled:
/// small calls of these operations over ranks that scale-up links join.
bool leaves_out_symmetric_kernels(const Prediction& r, double ranks, Collective op, const Topology& t) {
  constexpr std::uint64_t kSmall = 1 << 20;
  const bool has_them =
      op == Collective::kAllReduce || op == Collective::kAllGather || op == Collective::kReduceScatter;
  return r.nccl && has_them && count(r.size()) < kSmall && ranks <= static_cast<double>(scale_up_domain(t).gpus);
}

Json to_json(const Prediction& r, double n, Collective op, const Topology& t) {
  Json j{{"size_bytes", count(r.size())},
         {"time_us", r.time.in_us()},
         {"algbw_GBps", r.algbw()},
         {"busbw_GBps", r.algbw() * bus_factor(op, n)},
         {"algorithm", r.algorithm},
         {"protocol", name_of(r.protocol())},
         {"channels", r.channels},
         {"chunks", r.chunks},
         {"floor_us", r.floor.time.in_us()},
         {"floor_cut", {{"kind", name_of(r.floor.kind)}, {"name", r.floor.cut}}},
         {"above_floor_percent", r.gap_percent()},
         {"algorithm_floor_us", r.algorithm_floor.in_us()},
         {"bound_by", bound_to_json(r.bound, t)},
         {"band_percent", Json::array({r.band.low_percent, r.band.high_percent})},
         {"relief", Json::array()}};
  r.simplified.for_each([&](Simplification s) {
    const SimplificationEffect& e = effect_of(s);
    j["simplified"].push_back(
        Json{{"what", e.words}, {"messages_percent", Json::array({e.low_percent, e.high_percent})}});
  });
  if (!r.cause.empty()) j["bound_by"]["cause"] = r.cause;
  if (!r.warning.empty()) j["warning"] = r.warning;
  if (leaves_out_symmetric_kernels(r, n, op, t)) j["kernels"] = "NCCL without symmetric memory kernels";
  if (r.nccl)
    j["nccl"] = {{"algorithm", name_of(r.nccl->algorithm)},
                 {"protocol", name_of(r.nccl->protocol)},
                 {"channels", r.nccl->channels},
                 {"threads", r.nccl->threads},
                 {"forecast_us", r.nccl->forecast_us}};
  if (r.jitter)
    j["jitter"] = {{"time_without_us", r.jitter->without.in_us()},
                   {"expected_hits", r.jitter->expected_hits},
                   {"calls_hit_percent", r.jitter->calls_hit_percent},
                   {"p99_us", r.jitter->p99.in_us()}};
  if (r.made) {
    j["synthesized"] = {{"schedule", r.made->what},
                        {"textbook_algorithm", r.made->textbook},
                        {"textbook_time_us", r.made->textbook_time.in_us()}};
    if (r.made->ring_time) j["synthesized"]["ring_time_us"] = r.made->ring_time->in_us();
  }
  if (r.packets) j["packets"] = to_json(*r.packets);
  if (r.p99) j["time_p99_us"] = r.p99->in_us();
  if (r.jobs.size() > 1)
    j["jobs_us"] = {{"first", r.jobs.front().in_us()},
                    {"median", r.jobs[r.jobs.size() / 2].in_us()},
                    {"last", r.jobs.back().in_us()}};
  for (const Relief& x : r.relief) {
    j["relief"].push_back({{"what", x.what}, {"gain_percent", x.gain_percent}});
    if (!x.next) continue;
    j["relief"].back()["most_percent"] = x.most_percent;
    j["relief"].back()["next"] = bound_to_json(*x.next, t);
  }
  if (r.chain.empty()) return j;
  j["chain"] = Json::array();
  for (const ChainPart& p : r.chain) j["chain"].push_back(to_json(p, r.time, t));
  for (int k = 0; k <= static_cast<int>(ChainPartKind::kSharing); ++k) {
    double ps = 0;
    for (const ChainPart& p : r.chain) ps += static_cast<int>(p.kind) == k ? p.ps : 0;
    j["breakdown_us"][name_of(static_cast<ChainPartKind>(k))] = ps * 1e-6;
  }
  return j;
}

Document to_document(const CollectiveOptions& o, const Cluster& c, std::uint32_t gpus, Collective op,
                     const std::vector<Prediction>& rows, const Band& band, const std::string& chosen) {
  Document d;
  d.title = fmt::format("{} over {} {} of {}", name_of(op), gpus, gpus_in_words(c.topology), c.name);
  if (const NcclTestsFlags& f = o.nccl_tests; f.ranks() > 0 && c.topology.blocks().size() > 1)
    d.title += fmt::format(" (-t {} x -g {} over all nodes)", std::max(1u, f.threads), std::max(1u, f.gpus));
  d.command = o.common.typed;
  Table t{d.title + ", " + o.common.engine + " engine",
          {"size (B)", "time (us)", "algbw (GB/s)", "busbw (GB/s)", to_left("algorithm"), to_left("protocol"),
           "floor (us)", to_left("bound by")}};
  for (const Prediction& r : rows)
    t.rows.push_back({std::to_string(count(r.size())), format_number(r.time.in_us(), 4), format_number(r.algbw()),
                      format_number(r.algbw() * bus_factor(op, gpus)), r.algorithm, name_of(r.protocol()),
                      format_number(r.floor.time.in_us(), 4),
                      r.cause.empty() ? bound_in_short(r.bound, c.topology) : r.cause.substr(0, r.cause.find(':'))});
  t.note =
      "GB/s is 1e9 bytes per second per direction. floor: no schedule on this machine can be faster. Algorithms: " +
      chosen + ".";
  if (std::any_of(rows.begin(), rows.end(),
                  [&](const Prediction& r) { return leaves_out_symmetric_kernels(r, gpus, op, c.topology); }))
    t.note += " Below 1 MiB: NCCL without symmetric memory kernels.";
  for (const Prediction& r : rows)
    if (!r.warning.empty()) t.note += fmt::format(" At {}: {}.", format_binary_size(count(r.size())), r.warning);
  const Prediction& last = summary_row(rows);
  const std::string size = format_binary_size(count(last.size())), bound = bound_to_text(last.bound, c.topology);
  const bool one_limit = last.cause.empty() || last.host_wait > Duration();
  const std::string limit =
      one_limit
          ? fmt::format("At {} the time is limited by {}.", size, last.cause.empty() ? bound : last.cause)
          : fmt::format("At {} the cause of the limit is: {}. The time is limited by {}.", size, last.cause, bound);
  // A page begins with the answer and the picture; a terminal ends with the answer.
  d.blocks.push_back(
      {Highlight{fmt::format("{} takes {} ({} GB/s bus bandwidth). {}", size, format_duration(last.time.in_s()),
                             format_number(last.algbw() * bus_factor(op, gpus)), limit)},
       Audience::kPage});
  d.add(draw_bandwidth(rows, op, gpus), Audience::kPage);
  d.add(t);
  d.add(Highlight{limit}, Audience::kTerminal);
  if (last.floor.time > Duration())
    d.add(Paragraph{fmt::format(
        "Lower bound: {} us, for any schedule ({} cut: {}); this takes {:.3g} times as long. The busiest link of this "
        "schedule needs {} us at wire rate.",
        format_number(last.floor.time.in_us(), 4), name_of(last.floor.kind), last.floor.cut,
        last.time.in_s() / last.floor.time.in_s(), format_number(last.algorithm_floor.in_us(), 4))});
  if (last.packets) d.add(Paragraph{"Packets: " + trouble_of(*last.packets) + "."});
  if (!last.chain.empty()) d.add(chain_table(last, c.topology));
  if (last.made) {
    const auto us = [](Duration d) { return format_number(d.in_us(), 4); };
    std::string text = "No schedule made for this machine is faster than algorithm " + last.made->textbook + ".";
    if (last.call.schedule)
      text = fmt::format("Made for this machine: {}. The fastest of the others, {}, takes {} us{}.", last.made->what,
                         last.made->textbook, us(last.made->textbook_time),
                         last.made->ring_time ? fmt::format(", plain rings {} us", us(*last.made->ring_time)) : "");
    d.add(Paragraph{std::move(text)});
  }
  last.simplified.for_each([&](Simplification s) {
    const SimplificationEffect& e = effect_of(s);
    d.add(Paragraph{fmt::format(
        "Simplified: {}. Message by message, {} takes from {} % less to {} % more time (docs/models/flow.md).", e.words,
        size, -e.low_percent, e.high_percent)});
  });
  if (last.jitter) d.add(Paragraph{jitter_to_text(*last.jitter, last.time)});
  if (!last.relief.empty()) {
    Table relief{fmt::format("Gain from improving links at {}", format_binary_size(count(last.size()))),
                 {to_left("change"), "time saved (%)"}};
    for (const Relief& x : last.relief) relief.rows.push_back({x.what, format_number(x.gain_percent)});
    if (o.common.explain) {
      relief.columns.push_back({"at most (%)"});
      relief.columns.push_back(to_left("next limit"));
      for (std::size_t i = 0; i < last.relief.size(); ++i) {
        relief.rows[i].push_back(format_number(last.relief[i].most_percent));
        relief.rows[i].push_back(last.relief[i].next ? bound_in_short(*last.relief[i].next, c.topology) : "-");
      }
      relief.note = "at most: without this limit; next limit: the limit after that.";
    }
    d.add(relief);
  }
  for (const std::string& a : c.assumptions) d.add(Paragraph{"Assumed: " + a + "."});
  d.add(Paragraph{words_of(band, " at " + size)});
  return d;
}

}  // namespace busbar
