// The time of a collective over a range of sizes.
#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "busbar/base/quantity.h"
#include "busbar/collectives/builders.h"
#include "busbar/questions/collective_question.h"
#include "busbar/step/machine.h"
#include "busbar/views/bandwidth_charts.h"
#include "busbar/views/bound_words.h"
#include "busbar/views/collective_motion.h"
#include "busbar/views/packet_counts.h"
#include "busbar/views/penalty_words.h"
#include "busbar/views/policy_words.h"
#include "busbar/views/schedule_table.h"
#include "busbar/views/tier_motion.h"
#include "busbar/views/topology_drawing.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::CollectiveAnswer;
using questions::CollectiveRequest;
using questions::CollectiveResult;
using questions::leaves_out_symmetric_kernels;
using questions::NcclTestsRequest;
using questions::ScheduleResult;
using questions::summary_row;

/// The chain that limits the time, one line per part.
report::Table chain_table(const predict::Prediction& row, const topology::Topology& topology) {
  report::Table t{
      fmt::format("The chain that limits {}", format_binary_size(count(row.size()))),
      {report::to_left("part"), "us", "%", "ranks", "rounds", report::to_left("link"), report::to_left("phase")}};
  for (const lowering::ChainPart& p : row.chain) {
    const bool ranks = p.from != kNone32;
    t.rows.push_back({lowering::name_of(p.kind), format_number(p.ps * 1e-6, 4),
                      format_number(100 * p.ps / std::max(1.0, static_cast<double>(row.time.in_ps()))),
                      ranks ? fmt::format("{} -> {}", p.from, p.to) : "-",
                      p.rounds > 0 ? std::to_string(p.rounds) : "-",
                      p.link == kNone<topology::LinkId> ? "-" : topology.name(p.link), p.phase});
  }
  t.note =
      "The parts are in sequence and sum to the time. ranks: where a part begins and ends; link: the narrowest one.";
  return t;
}

std::string title_of(const CollectiveRequest& q, const CollectiveResult& r) {
  const spec::Cluster& c = r.machine->cluster();
  std::string out = fmt::format("{} over {} {} of {}", r.collective, r.gpus, step::gpus_in_words(c.topology), c.name);
  if (const NcclTestsRequest& f = q.nccl_tests; f.ranks() > 0 && c.topology.blocks().size() > 1)
    out += fmt::format(" (-t {} x -g {} over all nodes)", std::max(1u, f.threads), std::max(1u, f.gpus));
  return out;
}

/// The kernels for registered buffers with the sizes from which they run, or why there are none.
std::string kernel_note(const std::vector<predict::Prediction>& rows) {
  std::string out, last;
  bool any = false;
  for (const predict::Prediction& r : rows) {
    if (!r.nccl) continue;
    any = any || r.nccl->kernel;
    const std::string now = r.nccl->kernel            ? std::string(r.nccl->kernel->name)
                            : r.nccl->why_not.empty() ? std::string()
                                                      : fmt::format("none ({})", r.nccl->why_not);
    if (!now.empty() && now != last)
      out += fmt::format("{}{} from {}", out.empty() ? "" : "; ", now, format_binary_size(count(r.size())));
    last = now;
  }
  if (out.empty()) return out;
  return " Registered buffers, kernels" + std::string(any ? ", each with a launch of its own: " : ": ") + out + ".";
}

report::Table sizes_table(const CollectiveRequest& q, const CollectiveResult& result) {
  const topology::Topology& topology = result.machine->cluster().topology;
  const std::string words = policy_words(
      result.machine->policy(), q.nccl_tests.cudagraph > 0 && q.predict.launch.empty() ? "graph" : q.predict.launch,
      result.machine->protocol().launch);
  report::Table t{title_of(q, result) + ", " + result.engine + " engine",
                  {"size (B)", "time (us)", "algbw (GB/s)", "busbw (GB/s)", report::to_left("algorithm"),
                   report::to_left("protocol"), "floor (us)", report::to_left("bound by")}};
  for (const predict::Prediction& r : result.rows)
    t.rows.push_back({std::to_string(count(r.size())), format_number(r.time.in_us(), 4), format_number(r.algbw()),
                      format_number(r.algbw() * predict::bus_factor(result.op, result.gpus)), r.algorithm,
                      program::name_of(r.protocol()), format_number(r.floor.time.in_us(), 4),
                      r.cause.empty() ? bound_in_short(r.bound, topology) : r.cause.substr(0, r.cause.find(':'))});
  t.note =
      "GB/s is 1e9 bytes per second per direction. floor: no schedule on this machine can be faster. Algorithms: " +
      result.algorithm_choice_note + "; " + words + ".";
  if (std::any_of(result.rows.begin(), result.rows.end(), [&](const predict::Prediction& r) {
        return leaves_out_symmetric_kernels(r, result.gpus, result.op, topology);
      }))
    t.note += " Below 1 MiB: NCCL without symmetric memory kernels (--register symmetric).";
  t.note += kernel_note(result.rows);
  for (const predict::Prediction& r : result.rows)
    if (!r.warning.empty()) t.note += fmt::format(" At {}: {}.", format_binary_size(count(r.size())), r.warning);
  return t;
}

/// "At 1 GiB the time is limited by ...".
std::string limit_words(const predict::Prediction& last, const std::string& size, const topology::Topology& t) {
  const std::string bound = bound_to_text(last.bound, t);
  const bool one_limit = last.cause.empty() || last.host_wait > Duration();
  return one_limit
             ? fmt::format("At {} the time is limited by {}.", size, last.cause.empty() ? bound : last.cause)
             : fmt::format("At {} the cause of the limit is: {}. The time is limited by {}.", size, last.cause, bound);
}

void add_floor(const predict::Prediction& last, report::Document& d) {
  if (last.floor.time <= Duration()) return;
  d.add(report::Paragraph{fmt::format(
      "Lower bound: {} us, for any schedule ({} cut: {}); this takes {:.3g} times as long. The busiest link of this "
      "schedule needs {} us at wire rate.",
      format_number(last.floor.time.in_us(), 4), floors::name_of(last.floor.kind), last.floor.cut,
      last.time.in_s() / last.floor.time.in_s(), format_number(last.algorithm_floor.in_us(), 4))});
}

report::Paragraph made_words(const predict::Prediction& last) {
  const auto us = [](Duration d) { return format_number(d.in_us(), 4); };
  if (!last.call.schedule)
    return {"No schedule made for this machine is faster than algorithm " + last.made->textbook + "."};
  return {fmt::format("Made for this machine: {}. The fastest of the others, {}, takes {} us{}.", last.made->what,
                      last.made->textbook, us(last.made->textbook_time),
                      last.made->ring_time ? fmt::format(", plain rings {} us", us(*last.made->ring_time)) : "")};
}

report::Table relief_table(const predict::Prediction& last, bool explain, const topology::Topology& t) {
  report::Table relief{fmt::format("Gain from improving links at {}", format_binary_size(count(last.size()))),
                       {report::to_left("change"), "time saved (%)"}};
  for (const choice::Relief& x : last.relief) relief.rows.push_back({x.what, format_number(x.gain_percent)});
  if (!explain) return relief;
  relief.columns.push_back({"at most (%)"});
  relief.columns.push_back(report::to_left("next limit"));
  for (std::size_t i = 0; i < last.relief.size(); ++i) {
    relief.rows[i].push_back(format_number(last.relief[i].most_percent));
    relief.rows[i].push_back(last.relief[i].next ? bound_in_short(*last.relief[i].next, t) : "-");
  }
  relief.note = "at most: without this limit; next limit: the limit after that.";
  return relief;
}

/// What the row has besides its time, in the order of the page.
void add_rest(const CollectiveRequest& q, const predict::Prediction& last, const std::string& size,
              const topology::Topology& t, report::Document& d) {
  add_floor(last, d);
  if (last.packets) d.add(report::Paragraph{"Packets: " + trouble_of(*last.packets) + "."});
  if (!last.chain.empty()) d.add(chain_table(last, t));
  if (last.made) d.add(made_words(last));
  last.simplified.for_each([&](lowering::Simplification s) {
    const lowering::SimplificationEffect& e = lowering::effect_of(s);
    d.add(report::Paragraph{fmt::format(
        "Simplified: {}. Message by message, {} takes from {} % less to {} % more time (docs/models/flow.md).", e.words,
        size, -e.low_percent, e.high_percent)});
  });
  if (last.jitter) d.add(report::Paragraph{predict::jitter_to_text(*last.jitter, last.time)});
  if (!last.relief.empty()) d.add(relief_table(last, q.explain, t));
}

std::string words_of_choice(const CollectiveResult& r) {
  if (r.algorithm_choice == "nccl") return "NCCL's choice";
  if (r.algorithm_choice == "rccl") return "RCCL's choice";
  return "as timed: " + r.algorithm_choice;
}

/// Where it cannot be followed message by message: the machine with its mean loads.
void add_loads(const CollectiveResult& r, report::Document& d) {
  const predict::Prediction& row = summary_row(r.rows);
  const topology::Topology& t = r.machine->cluster().topology;
  if (!row.call.parts.empty()) return;
  Result<std::vector<double>> loads = questions::loads_of(row, *r.machine);
  if (!loads.ok()) return;
  const LinkHeat heat{std::move(*loads), "over the collective"};
  d.add(draw_fabric(t, heat), report::Audience::kPage);
  if (!t.blocks().empty()) d.add(draw_node(t, t.block_of(t.gpus()[0]), heat), report::Audience::kPage);
}

void add_pictures(const CollectiveResult& r, report::Document& d) {
  const auto courses = questions::courses_of(r.rows, *r.machine);
  report::Motion motion;
  if (!courses.empty()) motion = draw_courses(courses, r.machine->cluster().topology);
  if (motion.panes.empty()) motion = draw_tier_courses(questions::tier_courses_of(r.rows, *r.machine));
  const bool moves = !motion.panes.empty();
  d.add(std::move(motion), report::Audience::kPage);
  if (!moves) add_loads(r, d);
  const std::vector<predict::Prediction> others = questions::others_of(r.rows, *r.machine);
  const BandwidthRows rows{r.rows, others, r.op, static_cast<double>(r.gpus), words_of_choice(r)};
  d.add(draw_times(rows), report::Audience::kPage);
  d.add(draw_bandwidth(rows), report::Audience::kPage);
}

bool switches_p2p_off(const std::vector<std::string>& env) {
  return std::any_of(env.begin(), env.end(), [](const std::string& v) {
    return v == "NCCL_P2P_DISABLE=1" || v == "NCCL_P2P_LEVEL=LOC" || v == "NCCL_P2P_LEVEL=0";
  });
}

/// Whether switches inside a domain reduce in it, or in one of its levels: "hierarchical(nvls,tree)".
bool reduces_in_domain(std::string_view algorithm) {
  while (!algorithm.empty()) {
    const std::size_t end = std::min(algorithm.find_first_of("(,)"), algorithm.size());
    const collectives::AlgorithmTraits traits = collectives::traits_of(algorithm.substr(0, end));
    if (traits.reduces_in_network && !traits.reduces_in_fabric) return true;
    algorithm.remove_prefix(std::min(end + 1, algorithm.size()));
  }
  return false;
}

/// Without it a person takes the time for that of GPUs that do not reach each other.
void add_p2p_note(const CollectiveResult& r, report::Document& d) {
  const bool in_domain = std::any_of(r.rows.begin(), r.rows.end(),
                                     [](const predict::Prediction& p) { return reduces_in_domain(p.algorithm); });
  // NCCL 2.30.7, src/transport/nvls.cc, ncclNvlsInit: multicast asks for no P2P.
  if (in_domain && switches_p2p_off(r.machine->policy().env))
    d.add(
        report::Paragraph{"Note: this setting does not stop NVLS, which NCCL sets up without asking for P2P. What "
                          "keeps the GPUs of a host "
                          "apart (ACS, IOMMU) stops it, too: for that add --env NCCL_NVLS_ENABLE=0."});
}

report::Document sizes_document(const CollectiveRequest& q, const CollectiveResult& r, Extent extent) {
  const spec::Cluster& c = r.machine->cluster();
  const predict::Prediction& last = summary_row(r.rows);
  const std::string size = format_binary_size(count(last.size())), limit = limit_words(last, size, c.topology);
  report::Document d{title_of(q, r), {}, {}};
  // A page begins with the answer and the picture; a terminal ends with the answer.
  d.add(
      report::Highlight{fmt::format("{} takes {} ({} GB/s bus bandwidth). {}", size, format_duration(last.time.in_s()),
                                    format_number(last.algbw() * predict::bus_factor(r.op, r.gpus)), limit)},
      report::Audience::kPage);
  if (extent == Extent::kPage) add_pictures(r, d);
  d.add(sizes_table(q, r));
  d.add(report::Highlight{limit}, report::Audience::kTerminal);
  add_rest(q, last, size, c.topology, d);
  add_p2p_note(r, d);
  for (const std::string& a : c.assumptions) d.add(report::Paragraph{"Assumed: " + a + "."});
  d.add(report::Paragraph{predict::words_of(last.band, " at " + size)});
  if (last.p99) d.add(penalty_words(*r.machine->policy().penalty, size, format_number(last.p99->in_us(), 4) + " us"));
  if (r.shortcuts) d.add(shortcut_words(*r.shortcuts));
  return d;
}

report::Document file_document(const CollectiveRequest& q, const ScheduleResult& r) {
  const spec::Cluster& c = r.machine->cluster();
  const questions::ScheduleRow& last = r.rows.back();
  const std::string size = format_binary_size(count(last.size));
  report::Document d{fmt::format("{} over {} GPUs of {} by {}", r.collective, r.gpus, c.name, q.schedule), {}, {}};
  d.add(schedule_table(*r.imported, r.rows, c));
  d.add(report::Highlight{
      fmt::format("Proved: {} sends, at most {} of them one after another. At {} the time is limited by {}.",
                  r.schedule.sends, r.schedule.longest_chain_of_sends, size, bound_to_text(last.bound, c.topology))});
  for (const std::string& note : r.notes) d.add(report::Paragraph{"Assumed: " + note + "."});
  d.add(report::Paragraph{predict::words_of(r.band, " at " + size)});
  return d;
}

report::Document collective_document(const CollectiveRequest& q, const CollectiveAnswer& a, Extent extent) {
  const auto* const file = std::get_if<ScheduleResult>(&a);
  return file != nullptr ? file_document(q, *file) : sizes_document(q, std::get<CollectiveResult>(a), extent);
}

}  // namespace

View collective_view() { return make_view("collective", collective_document); }

}  // namespace busbar::views
