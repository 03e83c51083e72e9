#include "busbar/step/internal/step_timeline.h"

#include <algorithm>
#include <tuple>

#include "busbar/base/id.h"
#include "busbar/step/breakdown.h"
#include "busbar/step/internal/exposed_loads.h"
#include "busbar/step/internal/link_courses.h"

namespace busbar::step {
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
  Writer(const program::Program& program, const program::OpIndex& ids, const ProgramRun& run, const Causes& causes,
         const engine::Engine& engine, const topology::Topology* topology)
      : program_(program), ids_(ids), run_(run), causes_(causes), engine_(engine), topology_(topology) {}

  trace::Timeline write() {
    out_.length = run_.length;
    add_tracks();
    add_strings();
    add_spans();
    if (topology_ != nullptr) add_links();
    return std::move(out_);
  }

 private:
  void add_tracks() {
    for (const program::Role& role : program_.roles) {
      first_track_.push_back(static_cast<std::uint32_t>(out_.tracks.size()));
      for (const std::string& stream : role.streams) {
        out_.tracks.push_back({role.name, stream});
        role_of_.push_back(static_cast<program::RoleId>(first_track_.size() - 1));
      }
    }
  }

  void add_strings() {
    out_.strings = program_.labels;
    for (int c = 0; c < kClasses; ++c)
      category_.push_back(intern(out_.strings, program::name_of(static_cast<program::OpClass>(c))));
    for (const program::CollectiveCall& call : program_.calls)
      algorithm_.push_back(call.algorithm.empty() ? trace::kNoString : intern(out_.strings, call.algorithm));
    for (const program::CallId call : run_.calls) {
      const topology::LinkId link = engine_.bound_by(call).link;
      const bool named = topology_ != nullptr && link != kNone<topology::LinkId>;
      bound_.push_back(named ? intern(out_.strings, topology_->name(link)) : 0xffff'ffffu);
    }
  }

  void add_spans() {
    struct Entry {
      SimTime start;
      std::uint32_t track, id;
      program::OpIndex::Place place;
    };
    std::vector<Entry> order;
    order.reserve(ids_.count());
    const auto add = [&](program::OpIndex::Place p) {
      const std::uint32_t track = first_track_[index(ids_.role(p))] + ids_.op(p).stream;
      order.push_back({run_.at(program_, p).start, track, static_cast<std::uint32_t>(order.size()), p});
    };
    ids_.for_each_piece(add, [&](std::uint32_t u) {
      const auto n = static_cast<std::uint32_t>(program_.passes[program_.uses[u].pass].ops.size());
      for (std::uint32_t i = 0; i < n; ++i) add({u, i});
    });
    std::sort(order.begin(), order.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.start, a.track, a.id) < std::tie(b.start, b.track, b.id);
    });
    std::vector<trace::SpanId> span_of(order.size());
    for (std::uint32_t s = 0; s < order.size(); ++s) span_of[order[s].id] = static_cast<trace::SpanId>(s);
    out_.spans.reserve(order.size());
    for (const Entry& e : order) {
      const program::Op& op = ids_.op(e.place);
      trace::Span span;
      span.track = static_cast<trace::TrackId>(e.track);
      span.label = op.label;
      span.category = category_[static_cast<std::size_t>(op.cls)];
      span.start = e.start;
      span.duration = run_.at(program_, e.place).end - e.start;
      if (const program::OpId cause = causes_.of(e.place); cause != kNone<program::OpId>)
        span.cause = span_of[index(cause)];
      if (op.kind == program::OpKind::kCollective) {
        span.bound_by = bound_[index(op.call)];
        span.algorithm = algorithm_[index(op.call)];
        span.bytes = count(program_.calls[index(op.call)].bytes);
        courses_.add(op.call, span.start, span.duration);
      }
      class_of_.push_back(op.cls);
      call_of_.push_back(op.kind == program::OpKind::kCollective ? op.call : kNone<program::CallId>);
      out_.spans.push_back(span);
    }
    add_gaps();
  }

  /// Explains the gaps of compute rows, and the time from the last compute to the end, and credits them to the
  /// collectives that ended them and to those that these waited for.
  void add_gaps() {
    std::vector<SimTime> idle_since(out_.tracks.size());
    trace::SpanId last = trace::kNoSpan;
    for (std::uint32_t i = 0; i < out_.spans.size(); ++i) {
      const trace::Span& s = out_.spans[i];
      SimTime& since = idle_since[index(s.track)];
      if (computes(s.track)) add_exposed_between(since, s.start, s.cause), add_waits(s.track, since, s.start, s.cause);
      since = std::max(since, s.start + s.duration);
      if (last == trace::kNoSpan || end_of(s) > end_of(out_.spans[index(last)])) last = trace::SpanId{i};
    }
    if (last == trace::kNoSpan) return;
    for (std::uint32_t track = 0; track < out_.tracks.size(); ++track) {
      if (!computes(trace::TrackId{track})) continue;
      add_waits(trace::TrackId{track}, idle_since[track], SimTime::at(run_.length), last);
      if (out_.tracks[track].process == out_.tracks[index(out_.spans[index(last)].track)].process)
        add_exposed_between(idle_since[track], end_of(out_.spans[index(last)]), last);
    }
    for (trace::SpanId s = last; s != trace::kNoSpan; s = out_.spans[index(s)].cause)
      out_.spans[index(s)].critical = true;
  }

  bool computes(trace::TrackId track) const { return out_.tracks[index(track)].thread == "compute"; }

  /// What [from, to) of a row of compute waited for, by part of the step: as attribute() explains the critical role.
  void add_waits(trace::TrackId track, SimTime from, SimTime to, trace::SpanId cause) {
    const std::size_t first = out_.waits.size();
    const auto add = [&](const BreakdownPart& part, SimTime start, trace::SpanId why) {
      const std::uint32_t name = intern(out_.strings, part.name);
      if (out_.waits.size() > first && out_.waits.back().part == name) {
        out_.waits.back().duration += out_.waits.back().start - start;
        out_.waits.back().start = start;
      } else {
        out_.waits.push_back({track, name, start, to - start, why});
      }
      to = start;
    };
    for (; to > from && cause != trace::kNoSpan; cause = out_.spans[index(cause)].cause) {
      const trace::Span& s = out_.spans[index(cause)];
      const bool own = role_of_[index(s.track)] == role_of_[index(track)];
      if (const SimTime begin = std::max(s.start, from); begin < to)
        add(part_of_wait(class_of_[index(cause)], own), begin, cause);
    }
    if (to > from) add(part_of_wait(program::OpClass::kCompute, true), from, trace::kNoSpan);
    std::reverse(out_.waits.begin() + static_cast<std::ptrdiff_t>(first), out_.waits.end());
  }

  static SimTime end_of(const trace::Span& s) { return s.start + s.duration; }

  /// A row of compute was idle; `cause` ended this.
  void add_exposed_between(SimTime since, SimTime end, trace::SpanId cause) {
    for (; cause != trace::kNoSpan && end > since && out_.spans[index(cause)].bytes > 0;
         cause = out_.spans[index(cause)].cause) {
      trace::Span& s = out_.spans[index(cause)];
      const SimTime begin = std::min(end, std::max(since, s.start));
      s.exposed += end - begin;
      end = begin;
    }
  }

  void add_links() {
    const std::vector<double> bytes = engine_.link_bytes();
    for (std::uint32_t l = 0; l < bytes.size(); ++l) {
      if (!(bytes[l] > 0)) continue;
      const double possible = topology_->payload_rate(static_cast<topology::LinkId>(l)) * run_.length.in_s();
      out_.links.push_back({l,
                            static_cast<std::uint64_t>(bytes[l] + 0.5),
                            possible > 0 ? bytes[l] / possible : 0,
                            trace::kNoString,
                            {}});
    }
    add_exposed_loads(*topology_, engine_, run_, call_of_, out_);
    for (trace::LinkLoad* link : courses_.follow(*topology_, engine_, run_, out_))
      link->name = intern(out_.strings, topology_->name(static_cast<topology::LinkId>(link->link)));
  }

  const program::Program& program_;
  const program::OpIndex& ids_;
  const ProgramRun& run_;
  const Causes& causes_;
  const engine::Engine& engine_;
  const topology::Topology* topology_;
  trace::Timeline out_;
  std::vector<std::uint32_t> first_track_, category_, bound_, algorithm_;
  std::vector<program::RoleId> role_of_;    ///< per track
  std::vector<program::OpClass> class_of_;  ///< per span
  std::vector<program::CallId> call_of_;    ///< per span
  LinkCourses courses_;
};

}  // namespace

trace::Timeline step_timeline(const program::Program& program, const program::OpIndex& ids, const ProgramRun& run,
                              const Causes& causes, const engine::Engine& engine, const topology::Topology* topology) {
  return Writer(program, ids, run, causes, engine, topology).write();
}

}  // namespace busbar::step
