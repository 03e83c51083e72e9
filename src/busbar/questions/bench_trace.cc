#include "busbar/questions/bench_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "busbar/base/id.h"
#include "busbar/questions/bench_compare.h"

namespace busbar::questions {
namespace {

/// Numbers strings as they come.
class Strings {
 public:
  explicit Strings(std::vector<std::string>& all) : all_(all) {}
  std::uint32_t number(const std::string& text) {
    const auto [at, added] = known_.emplace(text, static_cast<std::uint32_t>(all_.size()));
    if (added) all_.push_back(text);
    return at->second;
  }

 private:
  std::vector<std::string>& all_;
  std::map<std::string, std::uint32_t> known_;
};

/// Of what the step waited for: what ended last; kNone32: nothing.
std::uint32_t cause_of(const runtime::Executable& x, std::uint32_t step, const std::vector<runtime::StepTime>& times) {
  std::uint32_t out = kNone32;
  for (const runtime::Wait& w : x.waits.row(step)) {
    const std::uint32_t on = x.first_step[w.thread] + w.steps - 1;
    if (out == kNone32 || times[on].end_ns > times[out].end_ns) out = on;
  }
  return out;
}

}  // namespace

trace::Timeline timeline_of(const runtime::Executable& x, std::uint64_t chunk_bytes,
                            const std::vector<runtime::StepTime>& times) {
  trace::Timeline out;
  Strings strings(out.strings);
  std::int64_t first = times.empty() ? 0 : times[0].begin_ns;
  for (const runtime::StepTime& t : times) first = std::min(first, t.begin_ns);
  for (std::uint32_t t = 0; t < x.threads(); ++t)
    out.tracks.push_back({fmt::format("rank {}", x.plan.thread_rank[t]), fmt::format("thread {}", t)});
  std::vector<std::uint32_t> order(times.size()), place(times.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return times[a].begin_ns < times[b].begin_ns; });
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (const std::uint32_t s : order) {
    const std::string words = step_words(x.plan, s);
    trace::Span span;
    span.track = trace::TrackId{x.plan.steps[s].thread};
    span.label = strings.number(words);
    span.category = strings.number(words.substr(0, words.find(' ')));
    span.start = SimTime::at(Duration::ns(times[s].begin_ns - first));
    span.duration = Duration::ns(times[s].end_ns - times[s].begin_ns);
    span.bytes = x.plan.steps[s].count * chunk_bytes;
    if (const std::uint32_t c = cause_of(x, s, times); c != kNone32) span.cause = trace::SpanId{place[c]};
    out.length = std::max(out.length, Duration::ns(times[s].end_ns - first));
    out.spans.push_back(span);
  }
  return out;
}

}  // namespace busbar::questions
