#include "busbar/views/collective_motion.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "busbar/base/quantity.h"
#include "busbar/report/style.h"
#include "busbar/views/motion_machine.h"

namespace busbar::views {
namespace {

using questions::CollectiveCourse;
using questions::CoursePartKind;
using questions::CourseSend;

constexpr std::size_t kMostTrips = 12'000;  // of all panes: some 400 kB
constexpr std::size_t kMostEnds = 1'500;    // more are no picture
constexpr std::size_t kMostParts = 1'500;
constexpr std::size_t kNumbered = 500;  // trips with a number have room for it
constexpr int kAddsColour = report::colour::kTp, kCopiesColour = report::colour::kCompute;

std::int64_t label_of(const CourseSend& s) { return s.piece == kNone32 ? -1 : std::int64_t{s.piece}; }

/// Sends over one way whose times are the same to `grain_s` become one trip.
std::vector<report::MotionTrip> trips_of(const CollectiveCourse& c, const std::vector<std::uint32_t>& path_of_way,
                                         double grain_s) {
  std::map<std::tuple<std::uint32_t, bool, std::int64_t, std::int64_t>, std::size_t> place;
  std::vector<report::MotionTrip> out;
  for (const CourseSend& s : c.sends) {
    const std::uint32_t path = path_of_way[s.way];
    const auto grain = [&](double t) { return std::llround(t / grain_s); };
    const auto [it, fresh] = place.try_emplace({path, s.adds, grain(s.start_s), grain(s.done_s)}, out.size());
    if (fresh) {
      out.push_back({path, s.start_s, s.sent_s, s.done_s, s.bytes, s.adds ? kAddsColour : kCopiesColour, label_of(s)});
      continue;
    }
    report::MotionTrip& t = out[it->second];
    t.amount += s.bytes;
    t.sent_s = std::max(t.sent_s, s.sent_s);
    t.done_s = std::max(t.done_s, s.done_s);
    if (t.label != label_of(s)) t.label = -1;
  }
  return out;
}

std::vector<report::MotionTrip> few_trips(const CollectiveCourse& c, const std::vector<std::uint32_t>& path_of_way,
                                          std::size_t most) {
  double grain_s = c.row.time.in_s() / 4e3;
  std::vector<report::MotionTrip> out = trips_of(c, path_of_way, grain_s);
  while (out.size() > most && grain_s < c.row.time.in_s()) out = trips_of(c, path_of_way, grain_s *= 1.5);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
  if (out.size() > kNumbered)
    for (report::MotionTrip& t : out) t.label = -1;
  return out;
}

int term_of(CoursePartKind k) { return static_cast<int>(k); }

/// Parts shorter than what a screen shows join the one before.
std::vector<report::MotionPane::Part> parts_of_chain(const CollectiveCourse& c) {
  std::vector<report::MotionPane::Part> out;
  const double least_s = c.row.time.in_s() / kMostParts;
  for (const questions::CoursePart& p : c.chain) {
    const bool joins = !out.empty() && (out.back().term == term_of(p.kind) || p.end_s - p.begin_s < least_s);
    if (joins)
      out.back().end_s = p.end_s;
    else
      out.push_back({term_of(p.kind), p.begin_s, p.end_s});
  }
  return out;
}

std::vector<report::MotionPiece> formula_of(const CollectiveCourse& c) {
  std::vector<report::MotionPiece> out{{"launch", term_of(CoursePartKind::kLaunch)}, {" + "}};
  for (const collectives::LawPiece& p : c.law.formula)
    out.push_back({p.text, p.term == collectives::LawTerm::kLatency    ? term_of(CoursePartKind::kLatency)
                           : p.term == collectives::LawTerm::kTransfer ? term_of(CoursePartKind::kTransfer)
                                                                       : -1});
  return out;
}

/// The law with its numbers, and how far the simulated time is from it.
std::string law_words(const CollectiveCourse& c) {
  const double launch_s = c.chain.front().end_s, bytes = static_cast<double>(count(c.row.size()));
  const double law_s = launch_s + c.law.sends * c.latency_s + c.law.share * bytes / c.bytes_per_s;
  std::string out = fmt::format(
      "With \u03b1 = {}, S = {} and B = {} GB/s per GPU when {} is full, the law gives {}; simulated: {}.",
      format_duration(c.latency_s), format_binary_size(count(c.row.size())), format_number(c.bytes_per_s / 1e9),
      c.busiest, format_duration(law_s), format_duration(c.row.time.in_s()));
  const double apart = 100 * (c.messages_s / c.row.time.in_s() - 1);
  if (std::fabs(apart) >= 0.5)
    out += fmt::format(" Message by message it takes {:+.2g} %; the clock is stretched to the predicted time.", apart);
  return out;
}

report::MotionPane pane_of(const CollectiveCourse& c, std::size_t most_trips, MotionMachine& machine) {
  report::MotionPane out = named_pane(c.row);
  std::vector<std::uint32_t> path_of_way;
  for (std::uint32_t w = 0; w < c.ways.rows(); ++w) {
    path_of_way.push_back(static_cast<std::uint32_t>(out.paths.size()));
    report::MotionPath path = machine.path(c.ends[w], c.ways.row(w));
    const auto same = std::find_if(out.paths.begin(), out.paths.end(), [&](const report::MotionPath& p) {
      return p.to == path.to && p.lines == path.lines;
    });
    if (same == out.paths.end())
      out.paths.push_back(std::move(path));
    else
      path_of_way.back() = static_cast<std::uint32_t>(same - out.paths.begin());
  }
  out.trips = few_trips(c, path_of_way, most_trips);
  out.formula = formula_of(c);
  out.terms = {"launch", "\u03b1", "transfer"};
  out.parts = parts_of_chain(c);
  out.note = law_words(c);
  return out;
}

/// Whether its ways are few enough to draw; channels between the same ends look like one.
bool can_be_drawn(const CollectiveCourse& c) {
  std::set<std::pair<topology::DeviceId, topology::DeviceId>> ends;
  for (const questions::CourseEnds& e : c.ends) ends.emplace(e.from, e.to);
  return ends.size() <= kMostEnds;
}

}  // namespace

report::MotionPane named_pane(const predict::Prediction& row) {
  report::MotionPane out;
  out.name = fmt::format("{}, {}", row.algorithm, program::name_of(row.protocol()));
  out.end_s = row.time.in_s();
  out.end = format_number(row.time.in_us(), 4) + " us";
  return out;
}

report::Motion draw_courses(const std::vector<CollectiveCourse>& courses, const topology::Topology& topology) {
  const predict::Prediction& first = courses[0].row;
  report::Motion out;
  if (!can_be_drawn(courses[0])) return out;
  MotionMachine machine(courses, topology);
  out.title = fmt::format("Watch it: {} of {} over {} GPUs", collectives::name_of(first.call.op),
                          format_binary_size(count(first.size())), first.call.groups.size());
  out.description = "The machine, and the mean load of its links over the whole collective.";
  for (const CollectiveCourse& c : courses)
    if (can_be_drawn(c)) out.panes.push_back(pane_of(c, kMostTrips / courses.size(), machine));
  machine.write(out);
  out.legend = {{"a part that the receiver adds to its own", kAddsColour}, {"a part that it keeps", kCopiesColour}};
  out.note =
      "A dot is a part of the buffer on its way; its number is that of the part. The bar under a GPU shows how much "
      "has "
      "arrived. The term that lights up is what the longest chain of sends does at that time.";
  return out;
}

}  // namespace busbar::views
