#include "busbar/step/internal/link_courses.h"

#include <algorithm>
#include <map>

namespace busbar::step {
namespace {

/// The busiest links of each class, ties by number.
std::vector<trace::LinkLoad*> busiest_of_each_class(const topology::Topology& t, trace::Timeline& timeline) {
  std::map<std::uint16_t, std::vector<trace::LinkLoad*>> classes;
  for (trace::LinkLoad& l : timeline.links)
    classes[t.link_class_index(static_cast<topology::LinkId>(l.link))].push_back(&l);
  std::vector<trace::LinkLoad*> out;
  for (auto& [c, links] : classes) {
    const std::size_t some = std::min(links.size(), LinkCourses::kEachClass);
    std::partial_sort(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(some), links.end(),
                      [](const trace::LinkLoad* a, const trace::LinkLoad* b) {
                        return a->utilisation != b->utilisation ? a->utilisation > b->utilisation : a->link < b->link;
                      });
    out.insert(out.end(), links.begin(), links.begin() + static_cast<std::ptrdiff_t>(some));
  }
  return out;
}

/// Calls f(part, share) for the parts of the run that overlap [start, start + duration); shares sum to 1.
template <typename F>
void for_each_part(SimTime start, Duration duration, Duration length, F f) {
  const double part_ps = static_cast<double>(length.in_ps()) / LinkCourses::kParts;
  const double from = static_cast<double>(start.since_start().in_ps()) / part_ps;
  const double span = static_cast<double>(duration.in_ps()) / part_ps;
  const auto last = static_cast<double>(LinkCourses::kParts - 1);
  const auto first_part = static_cast<std::size_t>(std::clamp(from, 0.0, last));
  const auto last_part = static_cast<std::size_t>(std::clamp(from + span, 0.0, last));
  if (first_part == last_part) return f(first_part, 1.0);
  for (std::size_t p = first_part; p <= last_part; ++p) {
    const double begin = std::max(from, static_cast<double>(p)), end = std::min(from + span, p + 1.0);
    f(p, std::max(0.0, end - begin) / span);
  }
}

/// Scales the course to the known mean.
void scale(std::vector<double>& course, double mean) {
  double sum = 0;
  for (const double x : course) sum += x;
  for (double& x : course) x *= sum > 0 ? mean * static_cast<double>(course.size()) / sum : 0;
}

}  // namespace

std::vector<trace::LinkLoad*> LinkCourses::follow(const topology::Topology& topology, const engine::Engine& engine,
                                                  const ProgramRun& run, trace::Timeline& timeline) const {
  if (timeline.length <= Duration()) return {};
  std::vector<trace::LinkLoad*> followed = busiest_of_each_class(topology, timeline);
  for (trace::LinkLoad* link : followed) link->course.assign(kParts, 0.0);
  std::vector<std::vector<double>> bytes(run.calls.size());  // per call and followed link
  std::vector<double> all(topology.link_count(), 0.0);
  for (std::size_t c = 0; c < run.calls.size(); ++c) {
    std::fill(all.begin(), all.end(), 0.0);
    engine.add_bytes_of(run.calls[c], all);
    for (const trace::LinkLoad* link : followed) bytes[c].push_back(all[link->link]);
  }
  for (const CallRun& r : runs_)
    for_each_part(r.start, r.duration, timeline.length, [&](std::size_t part, double share) {
      const std::vector<double>& of_call = bytes[index(r.call)];
      for (std::size_t i = 0; i < followed.size(); ++i) followed[i]->course[part] += share * of_call[i];
    });
  for (trace::LinkLoad* link : followed) scale(link->course, link->utilisation);
  return followed;
}

}  // namespace busbar::step
