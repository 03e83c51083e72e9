#include "busbar/trace/internal/nesting.h"

#include <fmt/core.h>

#include <algorithm>

namespace busbar::trace {
namespace {

/// Puts the spans of one track, in order, into the first lane where they nest.
void fill(const Timeline& timeline, TrackId track, const std::vector<std::uint32_t>& spans, std::vector<Lane>& out) {
  const std::size_t first = out.size();
  std::vector<std::vector<Duration>> open(1);  // per lane: ends of the spans around the current one, outermost first
  out.push_back({track, 0, {}});
  for (const std::uint32_t s : spans) {
    const Duration start = timeline.spans[s].start.since_start(), end = span_end(timeline.spans[s]);
    for (std::size_t lane = 0;; ++lane) {
      if (lane == open.size()) {
        open.emplace_back();
        out.push_back({track, static_cast<std::uint32_t>(lane), {}});
      }
      auto& around = open[lane];
      while (!around.empty() && around.back() <= start) around.pop_back();
      if (!around.empty() && around.back() < end) continue;
      around.push_back(end);
      out[first + lane].spans.push_back(s);
      break;
    }
  }
}

}  // namespace

Duration span_end(const Span& span) { return span.start.since_start() + std::max(span.duration, Duration()); }

std::vector<Lane> nest(const Timeline& timeline) {
  std::vector<std::vector<std::uint32_t>> by_track(timeline.tracks.size());
  for (std::uint32_t s = 0; s < timeline.spans.size(); ++s) {
    const auto track = static_cast<std::size_t>(timeline.spans[s].track);
    if (track < by_track.size()) by_track[track].push_back(s);
  }
  std::vector<Lane> out;
  for (std::size_t t = 0; t < by_track.size(); ++t) {
    std::stable_sort(by_track[t].begin(), by_track[t].end(), [&](std::uint32_t a, std::uint32_t b) {
      const Span &x = timeline.spans[a], &y = timeline.spans[b];
      return x.start != y.start ? x.start < y.start : x.duration > y.duration;
    });
    fill(timeline, static_cast<TrackId>(t), by_track[t], out);
  }
  return out;
}

std::string_view string_at(const Timeline& timeline, std::uint32_t index) {
  return index < timeline.strings.size() ? std::string_view(timeline.strings[index]) : std::string_view();
}

std::string lane_name(const Timeline& timeline, const Lane& lane) {
  const std::string& name = timeline.tracks[static_cast<std::size_t>(lane.track)].thread;
  return lane.number == 0 ? name : fmt::format("{} ({})", name, lane.number + 1);
}

}  // namespace busbar::trace
