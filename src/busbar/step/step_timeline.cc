#include "busbar/step/step_timeline.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "busbar/base/id.h"

namespace busbar {
namespace {

constexpr int kClasses = 8;  // of OpClass

std::uint32_t intern(std::vector<std::string>& strings, const std::string& text) {
  const auto it = std::find(strings.begin(), strings.end(), text);
  if (it != strings.end()) return static_cast<std::uint32_t>(it - strings.begin());
  strings.push_back(text);
  return static_cast<std::uint32_t>(strings.size() - 1);
}

class Writer {
 public:
  Writer(const Program& program, const ProgramRun& run, const Engine& engine, const Topology* topology)
      : program_(program), run_(run), engine_(engine), topology_(topology) {}

  Timeline write() {
    out_.length = run_.length;
    add_tracks();
    add_strings();
    add_spans();
    if (topology_ != nullptr) add_links();
    return std::move(out_);
  }

 private:
  void add_tracks() {
    for (const Role& role : program_.roles) {
      first_track_.push_back(static_cast<std::uint32_t>(out_.tracks.size()));
      for (const std::string& stream : role.streams) out_.tracks.push_back({role.name, stream});
    }
  }

  void add_strings() {
    out_.strings = program_.labels;
    for (int c = 0; c < kClasses; ++c) category_.push_back(intern(out_.strings, name_of(static_cast<OpClass>(c))));
    for (const CallId call : run_.calls) {
      const LinkId link = engine_.bound_by(call).link;
      const bool named = topology_ != nullptr && link != kNone<LinkId>;
      bound_.push_back(named ? intern(out_.strings, topology_->name(link)) : 0xffff'ffffu);
    }
  }

  void add_spans() {
    const auto track = [&](std::uint32_t i) {
      return first_track_[index(program_.ops[i].role)] + program_.ops[i].stream;
    };
    std::vector<std::uint32_t> order(program_.ops.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::make_tuple(run_.ops[a].start, track(a), a) < std::make_tuple(run_.ops[b].start, track(b), b);
    });
    std::vector<SpanId> span_of(order.size());
    for (std::uint32_t s = 0; s < order.size(); ++s) span_of[order[s]] = static_cast<SpanId>(s);
    out_.spans.reserve(order.size());
    for (const std::uint32_t i : order) {
      const Op& op = program_.ops[i];
      Span span;
      span.track = static_cast<TrackId>(track(i));
      span.label = op.label;
      span.category = category_[static_cast<std::size_t>(op.cls)];
      span.start = run_.ops[i].start;
      span.duration = run_.ops[i].end - run_.ops[i].start;
      if (run_.ops[i].cause != kNone<OpId>) span.cause = span_of[index(run_.ops[i].cause)];
      if (op.kind == OpKind::kCollective) span.bound_by = bound_[index(op.call)];
      out_.spans.push_back(span);
    }
  }

  void add_links() {
    const std::vector<double> bytes = engine_.link_bytes();
    for (std::uint32_t l = 0; l < bytes.size(); ++l) {
      if (!(bytes[l] > 0)) continue;
      const double possible = topology_->payload_rate(static_cast<LinkId>(l)) * run_.length.in_s();
      out_.links.push_back({l, static_cast<std::uint64_t>(bytes[l] + 0.5), possible > 0 ? bytes[l] / possible : 0});
    }
  }

  const Program& program_;
  const ProgramRun& run_;
  const Engine& engine_;
  const Topology* topology_;
  Timeline out_;
  std::vector<std::uint32_t> first_track_, category_, bound_;
};

}  // namespace

Timeline step_timeline(const Program& program, const ProgramRun& run, const Engine& engine, const Topology* topology) {
  return Writer(program, run, engine, topology).write();
}

}  // namespace busbar
