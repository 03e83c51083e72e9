// A timeline: one format for simulated and measured runs, independent of how they were made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/units.h"

namespace busbar::trace {

enum class SpanId : std::uint32_t {};
enum class TrackId : std::uint32_t {};
inline constexpr SpanId kNoSpan{0xffff'ffffu};
inline constexpr std::uint32_t kNoString = 0xffff'ffffu;

/// A row of the timeline: "stage 0 / compute".
struct Track {
  std::string process, thread;
};

struct Span {
  TrackId track{};
  std::uint32_t label = 0;     ///< index into Timeline::strings
  std::uint32_t category = 0;  ///< index into Timeline::strings: "compute", "tp", ...
  SimTime start;
  Duration duration;
  SpanId cause = kNoSpan;               ///< the span whose end allowed this one to start: an index into Timeline::spans
  std::uint32_t bound_by = kNoString;   ///< index into Timeline::strings, or none
  std::uint32_t algorithm = kNoString;  ///< of a collective, likewise
  std::uint64_t bytes = 0;              ///< of a collective: its size; 0: none
  bool critical = false;                ///< on the path of causes that ends last
  Duration exposed;                     ///< how long rows of compute waited for this span, itself or through others
};

/// Why a row of compute stands still, for one stretch of time.
struct Wait {
  TrackId track{};
  std::uint32_t part = 0;  ///< of the step: index into Timeline::strings, "bubble", "exposed_tp", ...
  SimTime start;
  Duration duration;
  SpanId cause = kNoSpan;  ///< what ends it; kNoSpan: not known
};

/// The load of one directed link over the run.
struct LinkLoad {
  std::uint32_t link = 0;  ///< LinkId of the simulated topology
  std::uint64_t bytes = 0;
  double utilisation = 0;          ///< bytes / (payload rate x length of the run), 0..1
  std::uint32_t name = kNoString;  ///< index into Timeline::strings: "leaf3->spine1", or none
  std::vector<double> course;      ///< utilisation in consecutive equal parts of the run; empty: not known
  double while_exposed = 0;        ///< utilisation while compute waits for collectives; 0: it never does
};

struct Timeline {
  std::vector<Track> tracks;
  std::vector<std::string> strings;
  std::vector<Span> spans;  ///< by start time, ties by track
  std::vector<Wait> waits;  ///< of the rows of compute; of one row by time
  std::vector<LinkLoad> links;
  Duration length;
};

}  // namespace busbar::trace
