#include "busbar/step/traced_overlay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace busbar::step {
namespace {

constexpr std::size_t kPurposeCount = static_cast<std::size_t>(program::OpClass::kOther) + 1;

/// Parts in the order in which kernels hide each other.
const std::vector<std::string>& traced_part_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out{"compute", "optimizer"};
    for (std::size_t c = 0; c + 1 < kPurposeCount; ++c)
      out.push_back(std::string("exposed_") + program::name_of(static_cast<program::OpClass>(c)));
    out.emplace_back("other");
    return out;
  }();
  return names;
}

std::size_t rank_of(const formats::TracedKernel& k, const std::vector<program::OpClass>& purposes) {
  const std::size_t last = traced_part_names().size() - 1;
  switch (k.kind) {
    case formats::TracedKind::kCopy:
      return last;
    case formats::TracedKind::kOptimizer:
      return 1;
    case formats::TracedKind::kCollective:
      return std::min(last, 2 + static_cast<std::size_t>(purposes[k.collective]));
    default:
      return 0;
  }
}

bool computes(const OverlaySpan& s) { return s.part == "compute" || s.part == "optimizer"; }

void add_span(double from_s, double to_s, const std::string& part, std::vector<OverlaySpan>& out) {
  if (to_s <= from_s) return;
  if (!out.empty() && out.back().part == part)
    out.back().duration_s = to_s - out.back().start_s;
  else
    out.push_back({from_s, to_s - from_s, part});
}

/// What runs between the edges of kernels, idle time as "other".
std::vector<OverlaySpan> measured_spans(const formats::StepTrace& trace, const formats::TracedStep& step,
                                        const std::vector<program::OpClass>& purposes) {
  struct Edge {
    double us;
    std::size_t part;
    int change;
  };
  std::vector<Edge> edges;
  for (const formats::TracedKernel& k : trace.kernels) {
    const double from = std::max(k.start_us, step.start_us), to = std::min(k.end_us, step.end_us);
    if (to <= from) continue;
    edges.push_back({from, rank_of(k, purposes), 1});
    edges.push_back({to, rank_of(k, purposes), -1});
  }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.us < b.us; });
  const std::vector<std::string>& names = traced_part_names();
  std::vector<int> running(names.size(), 0);
  std::vector<OverlaySpan> out;
  double at = step.start_us;
  const auto until = [&](double us) {
    const auto first = std::find_if(running.begin(), running.end(), [](int n) { return n > 0; });
    const std::string& part =
        first == running.end() ? names.back() : names[static_cast<std::size_t>(first - running.begin())];
    add_span((at - step.start_us) / 1e6, (us - step.start_us) / 1e6, part, out);
    at = us;
  };
  for (const Edge& e : edges) {
    until(e.us);
    running[e.part] += e.change;
  }
  until(step.end_us);
  return out;
}

std::uint32_t role_of(const TrainRun& run, std::uint32_t rank) {
  for (std::uint32_t s = 0; s < run.layout.pp; ++s) {
    const collectives::GroupFamily& ranks = run.program.roles[s].ranks;
    for (std::uint32_t g = 0; g < ranks.groups(); ++g)
      for (std::uint32_t m = 0; m < ranks.size(); ++m)
        if (ranks.actor(g, m) == rank) return s;
  }
  return index(run.step.critical_role);
}

/// Spans and waits of the row of computation.
std::vector<OverlaySpan> predicted_spans(const TrainRun& run, const std::string& role) {
  const trace::Timeline& tl = run.step.timeline;
  const auto mine = [&](trace::TrackId track) {
    const trace::Track& t = tl.tracks[index(track)];
    return t.process == role && t.thread == "compute";
  };
  std::vector<OverlaySpan> parts;
  for (const trace::Span& s : tl.spans)
    if (mine(s.track))
      parts.push_back({s.start.since_start().in_s(), s.duration.in_s(),
                       tl.strings[s.category] == "optimizer" ? "optimizer" : "compute"});
  for (const trace::Wait& w : tl.waits)
    if (mine(w.track)) parts.push_back({w.start.since_start().in_s(), w.duration.in_s(), tl.strings[w.part]});
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
  std::vector<OverlaySpan> out;
  double at = 0;
  for (const OverlaySpan& p : parts) {
    add_span(at, p.start_s, "other", out);
    add_span(std::max(at, p.start_s), p.start_s + p.duration_s, p.part, out);
    at = std::max(at, p.start_s + p.duration_s);
  }
  return out;
}

const formats::TracedStep& median_step(const formats::StepTrace& trace) {
  std::vector<const formats::TracedStep*> steps;
  for (const formats::TracedStep& s : trace.steps) steps.push_back(&s);
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end(),
                   [](const auto* a, const auto* b) { return a->end_us - a->start_us < b->end_us - b->start_us; });
  return **middle;
}

/// Walks along a step by its computation.
class ByComputation {
 public:
  explicit ByComputation(const std::vector<OverlaySpan>& spans) : spans_(spans) {
    for (const OverlaySpan& s : spans) all_s_ += computes(s) ? s.duration_s : 0;
  }
  double all_s() const { return all_s_; }
  double now_s() const { return now_s_; }
  double end_s() const { return spans_.empty() ? 0 : spans_.back().start_s + spans_.back().duration_s; }

  /// Goes on until `computed_s` of computation are over, or to the end, and returns the time of each part on the way.
  std::map<std::string, double> until(double computed_s, bool end) {
    std::map<std::string, double> out;
    while (at_ < spans_.size() && (end || done_s_ < computed_s)) {
      const OverlaySpan& s = spans_[at_];
      const double left = s.start_s + s.duration_s - now_s_;
      const double take = computes(s) && !end ? std::min(left, computed_s - done_s_) : left;
      out[s.part] += take;
      now_s_ += take;
      if (computes(s)) done_s_ += take;
      if (take < left) break;
      now_s_ = s.start_s + s.duration_s;
      ++at_;
    }
    return out;
  }

 private:
  const std::vector<OverlaySpan>& spans_;
  std::size_t at_ = 0;
  double all_s_ = 0, now_s_ = 0, done_s_ = 0;
};

}  // namespace

std::vector<OverlaySlice> slices_of(const std::vector<OverlaySpan>& measured, const std::vector<OverlaySpan>& predicted,
                                    std::size_t count) {
  ByComputation m(measured), p(predicted);
  std::vector<OverlaySlice> out;
  if (m.all_s() <= 0 || p.all_s() <= 0) return out;
  for (std::size_t i = 1; i <= count; ++i) {
    OverlaySlice slice{m.now_s(), 0, p.now_s(), 0, "", 0};
    const double share = static_cast<double>(i) / static_cast<double>(count);
    std::map<std::string, double> more = m.until(share * m.all_s(), i == count);
    for (const auto& [part, s] : p.until(share * p.all_s(), i == count)) more[part] -= s;
    slice.measured_s = m.now_s() - slice.measured_from_s;
    slice.predicted_s = p.now_s() - slice.predicted_from_s;
    for (const auto& [part, s] : more)
      if (std::abs(s) > std::abs(slice.part_more_s)) slice.part = part, slice.part_more_s = s;
    out.push_back(std::move(slice));
  }
  return out;
}

TracedOverlay overlay_of(const TrainRun& run, const formats::StepTrace& trace,
                         const std::vector<program::OpClass>& purposes) {
  TracedOverlay out;
  if (run.step.timeline.spans.empty()) return out;
  const formats::TracedStep& step = median_step(trace);
  out.step = step.name;
  out.role = run.program.roles[role_of(run, trace.rank)].name;
  out.measured = measured_spans(trace, step, purposes);
  out.predicted = predicted_spans(run, out.role);
  out.slices = slices_of(out.measured, out.predicted, kOverlaySlices);
  out.measured_s = ByComputation(out.measured).end_s();
  out.predicted_s = ByComputation(out.predicted).end_s();
  return out;
}

}  // namespace busbar::step
