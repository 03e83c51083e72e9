#include "busbar/report/internal/coalesce.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "busbar/report/internal/scale.h"
#include "busbar/report/style.h"

namespace busbar::report {
namespace {

constexpr double kAlike = 0.04;  // shares that differ by less look the same at 16 px

/// Consecutive short spans that will become one stack.
struct Stretch {
  double start_s = 0, end_s = 0;
  std::map<int, double> time_s;  ///< per colour; the palette order is the stack's order
  std::size_t spans = 0;
  const TimelineSpan* only = nullptr;

  void add(const TimelineSpan& span) {
    if (spans++ == 0) start_s = end_s = span.start_s;
    only = spans == 1 ? &span : nullptr;
    end_s = std::max(end_s, span.start_s + span.duration_s);
    time_s[known_colour(span.colour)] += span.duration_s;
  }
  double share(int index) const {
    const auto it = time_s.find(index);
    return it == time_s.end() ? 0 : it->second / (end_s - start_s);
  }
};

bool alike(const Stretch& a, const Stretch& b) {
  const auto covers = [](const Stretch& x, const Stretch& y) {
    return std::all_of(x.time_s.begin(), x.time_s.end(),
                       [&](const auto& t) { return std::fabs(x.share(t.first) - y.share(t.first)) < kAlike; });
  };
  return covers(a, b) && covers(b, a);
}

void merge(Stretch& into, const Stretch& next) {
  into.end_s = std::max(into.end_s, next.end_s);
  for (const auto& [index, time] : next.time_s) into.time_s[index] += time;
  into.spans += next.spans;
  into.only = nullptr;
}

void emit(const Stretch& s, std::vector<TimelinePiece>& out) {
  if (s.spans == 0) return;
  if (s.only != nullptr) {
    out.push_back({s.start_s, s.end_s, 0, 1, known_colour(s.only->colour), s.only});
    return;
  }
  double low = 0;
  for (const auto& [index, time] : s.time_s) {
    const double high = low + time / (s.end_s - s.start_s);
    out.push_back({s.start_s, s.end_s, low, high, index, nullptr});
    low = high;
  }
}

/// Collects stretches, merges adjacent ones that look alike, and writes them.
class Gatherer {
 public:
  Gatherer(double column_s, std::vector<TimelinePiece>& out) : column_s_(column_s), out_(out) {}
  void add(const TimelineSpan& span) {
    const bool full =
        now_.spans > 0 && (now_.end_s - now_.start_s >= column_s_ || span.start_s - now_.end_s >= column_s_);
    if (full) close();
    now_.add(span);
  }
  void flush() {
    close();
    emit(last_, out_);
    last_ = {};
  }

 private:
  void close() {
    if (now_.spans == 0) return;
    const bool join = last_.spans > 0 && now_.start_s - last_.end_s < column_s_ / 4 && alike(last_, now_);
    if (join) {
      merge(last_, now_);
    } else {
      emit(last_, out_);
      last_ = now_;
    }
    now_ = {};
  }
  double column_s_;
  std::vector<TimelinePiece>& out_;
  Stretch last_, now_;
};

}  // namespace

std::vector<TimelinePiece> coalesce(const TimelineRow& row, double column_s, double shortest_s) {
  std::vector<const TimelineSpan*> order;
  for (const TimelineSpan& span : row.spans) {
    if (std::isfinite(span.start_s) && drawable(span.duration_s) > 0) order.push_back(&span);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->start_s < b->start_s; });
  std::vector<TimelinePiece> out;
  Gatherer gather(column_s, out);
  for (const TimelineSpan* span : order) {
    if (span->duration_s < shortest_s) {
      gather.add(*span);
      continue;
    }
    gather.flush();
    out.push_back({span->start_s, span->start_s + span->duration_s, 0, 1, known_colour(span->colour), span});
  }
  gather.flush();
  return out;
}

double single_span_limit(const TimelineView& view, double least_s, std::size_t budget) {
  std::vector<double> lengths;
  for (const TimelineRow& row : view.rows) {
    for (const TimelineSpan& span : row.spans) {
      if (drawable(span.duration_s) >= least_s) lengths.push_back(span.duration_s);
    }
  }
  if (lengths.size() <= budget) return least_s;
  const auto nth = lengths.begin() + static_cast<std::ptrdiff_t>(budget);
  std::nth_element(lengths.begin(), nth, lengths.end(), std::greater<>());
  return std::nextafter(*nth, std::numeric_limits<double>::infinity());  // also leaves out equal ones
}

}  // namespace busbar::report
