#include "busbar/trace/perfetto.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "busbar/base/grouped.h"
#include "busbar/base/output.h"
#include "busbar/trace/internal/nesting.h"
#include "busbar/trace/internal/wire.h"

namespace busbar::trace {
namespace {

// Field numbers; names as in the .proto files.
namespace packet {
constexpr std::uint32_t kTimestamp = 8, kSequence = 10, kEvent = 11, kInterned = 12, kFlags = 13, kTrack = 60;
}
namespace track {
constexpr std::uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8;
}
namespace process {
constexpr std::uint32_t kPid = 1, kName = 6;
}
namespace thread {
constexpr std::uint32_t kPid = 1, kTid = 2, kName = 5;
}
namespace counter {
constexpr std::uint32_t kUnitName = 6;
}
namespace event {
constexpr std::uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kName = 10, kTrack = 11, kDouble = 44, kFlow = 47;
constexpr std::uint64_t kBegin = 1, kEnd = 2, kCount = 4;
}  // namespace event
namespace annotation {
constexpr std::uint32_t kName = 1, kUint = 3, kReal = 5, kString = 17;
}
namespace interned {
constexpr std::uint32_t kCategories = 1, kNames = 2, kAnnotations = 3, kStrings = 29, kIid = 1, kText = 2;
}
constexpr std::uint64_t kCleared = 1, kNeeded = 2;  // TracePacket.SequenceFlags
// Our own ids of annotation names.
constexpr std::uint64_t kBoundBy = 1, kCause = 2, kAlgorithm = 3, kBytes = 4, kExposed = 5;

std::uint64_t to_ns(Duration t) {
  return (static_cast<std::uint64_t>(std::max<std::int64_t>(0, t.in_ps())) + 500) / 1000;
}
std::uint64_t iid(std::uint32_t string) { return string + std::uint64_t{1}; }  // 0 is not a legal iid

class TraceWriter {
 public:
  explicit TraceWriter(const Timeline& timeline) : timeline_(timeline), lanes_(nest(timeline)) {}

  std::string write() {
    find_effects();
    intern();
    describe_lanes();
    for (std::size_t l = 0; l < lanes_.size(); ++l) slices(lanes_[l], lane_uuid_[l]);
    counters();
    return std::move(out_);
  }

 private:
  bool known(std::uint32_t string) const { return string < timeline_.strings.size(); }

  /// Rows cause -> effects. A flow has one source and one end, so a span with three effects starts three flows.
  void find_effects() {
    effects_ = grouped<std::uint32_t>(timeline_.spans.size(), [&](auto&& add) {
      for (std::uint32_t s = 0; s < timeline_.spans.size(); ++s)
        if (caused(s)) add(cause_of(s), s);
    });
  }

  std::size_t cause_of(std::uint32_t span) const { return static_cast<std::size_t>(timeline_.spans[span].cause); }
  bool caused(std::uint32_t span) const { return cause_of(span) < timeline_.spans.size(); }

  void emit(std::uint64_t flags) {
    packet_.varint(packet::kSequence, 1);
    packet_.varint(packet::kFlags, flags);
    frame_.clear();
    frame_.message(1, packet_);
    out_ += frame_.text();
    packet_.clear();
  }

  /// Writes all strings once, at the beginning; events refer to them by number.
  void intern() {
    WireWriter all, entry;
    const auto add = [&](std::uint32_t table, std::uint64_t id, std::string_view text) {
      entry.clear();
      entry.varint(interned::kIid, id);
      entry.bytes(interned::kText, text);
      all.message(table, entry);
    };
    for (std::uint32_t i = 0; i < timeline_.strings.size(); ++i) {
      for (const std::uint32_t table : {interned::kCategories, interned::kNames, interned::kStrings}) {
        add(table, iid(i), timeline_.strings[i]);
      }
    }
    add(interned::kAnnotations, kBoundBy, "bound_by");
    add(interned::kAnnotations, kCause, "cause");
    add(interned::kAnnotations, kAlgorithm, "algorithm");
    add(interned::kAnnotations, kBytes, "bytes");
    add(interned::kAnnotations, kExposed, "exposed_us");
    packet_.message(packet::kInterned, all);
    emit(kCleared | kNeeded);
  }

  void describe_lanes() {
    std::map<std::string, std::uint64_t> pids;  // numbered by first appearance
    for (const Lane& lane : lanes_) {
      const std::string& name = timeline_.tracks[static_cast<std::size_t>(lane.track)].process;
      const auto [it, fresh] = pids.emplace(name, pids.size() + 1);
      if (fresh) describe_process(name, it->second);
      describe_thread(lane, it->second);
    }
  }

  void describe_process(const std::string& name, std::uint64_t pid) {
    WireWriter descriptor, inner;
    inner.varint(process::kPid, pid);
    inner.bytes(process::kName, name);
    descriptor.varint(track::kUuid, ++uuid_);
    descriptor.message(track::kProcess, inner);
    packet_.message(packet::kTrack, descriptor);
    emit(kNeeded);
    process_uuid_.push_back(uuid_);
  }

  void describe_thread(const Lane& lane, std::uint64_t pid) {
    WireWriter descriptor, inner;
    lane_uuid_.push_back(++uuid_);
    inner.varint(thread::kPid, pid);
    inner.varint(thread::kTid, 1'000'000 + uuid_);  // never equal to a pid: tid == pid would mean "main thread"
    inner.bytes(thread::kName, lane_name(timeline_, lane));
    descriptor.varint(track::kUuid, uuid_);
    descriptor.varint(track::kParent, process_uuid_[pid - 1]);
    descriptor.message(track::kThread, inner);
    packet_.message(packet::kTrack, descriptor);
    emit(kNeeded);
  }

  /// Begins and ends in the order of correct nesting. The reader sorts by time and keeps this order in ties.
  void slices(const Lane& lane, std::uint64_t uuid) {
    std::vector<Duration> open;
    const auto close = [&](Duration until) {
      for (; !open.empty() && open.back() <= until; open.pop_back()) end(open.back(), uuid);
    };
    for (const std::uint32_t s : lane.spans) {
      close(timeline_.spans[s].start.since_start());
      begin(s, uuid);
      open.push_back(span_end(timeline_.spans[s]));
    }
    close(Duration::max());
  }

  void begin(std::uint32_t index, std::uint64_t uuid) {
    const Span& s = timeline_.spans[index];
    event_.clear();
    if (known(s.category)) event_.varint(event::kCategory, iid(s.category));
    if (known(s.bound_by)) annotate(kBoundBy, s.bound_by);
    if (known(s.algorithm)) annotate(kAlgorithm, s.algorithm);
    if (s.bytes > 0) annotate(kBytes, [&] { annotation_.varint(annotation::kUint, s.bytes); });
    if (s.bytes > 0) annotate(kExposed, [&] { annotation_.real(annotation::kReal, s.exposed.in_us()); });
    const bool is_effect = caused(index);
    if (is_effect && known(timeline_.spans[cause_of(index)].label))
      annotate(kCause, timeline_.spans[cause_of(index)].label);
    event_.varint(event::kType, event::kBegin);
    if (known(s.label)) event_.varint(event::kName, iid(s.label));
    event_.varint(event::kTrack, uuid);
    for (const std::uint32_t effect : effects_.row(index)) {
      event_.fixed64(event::kFlow, effect + std::uint64_t{1});
    }
    if (is_effect) event_.fixed64(event::kFlow, index + std::uint64_t{1});  // a flow has its effect's number
    at(s.start.since_start());
  }

  void end(Duration when, std::uint64_t uuid) {
    event_.clear();
    event_.varint(event::kType, event::kEnd);
    event_.varint(event::kTrack, uuid);
    at(when);
  }

  void at(Duration when) {
    packet_.varint(packet::kTimestamp, to_ns(when));
    packet_.message(packet::kEvent, event_);
    emit(kNeeded);
  }

  void annotate(std::uint64_t name, std::uint32_t string) {
    annotate(name, [&] { annotation_.varint(annotation::kString, iid(string)); });
  }
  void annotate(std::uint64_t name, const std::function<void()>& add_value) {
    annotation_.clear();
    annotation_.varint(annotation::kName, name);
    add_value();
    event_.message(event::kAnnotation, annotation_);
  }

  void counters() {
    std::vector<const LinkLoad*> links;
    for (const LinkLoad& l : timeline_.links)
      if (!l.course.empty()) links.push_back(&l);
    std::stable_sort(links.begin(), links.end(),
                     [](const auto* a, const auto* b) { return a->utilisation > b->utilisation; });
    if (links.empty()) return;
    describe_process("links", process_uuid_.size() + 1);
    const std::uint64_t parent = uuid_;
    for (const LinkLoad* link : links) {
      WireWriter descriptor, inner;
      const std::string_view name = string_at(timeline_, link->name);
      inner.bytes(counter::kUnitName, "%");
      descriptor.varint(track::kUuid, ++uuid_);
      descriptor.bytes(track::kName, name.empty() ? fmt::format("link {}", link->link) : std::string(name));
      descriptor.varint(track::kParent, parent);
      descriptor.message(track::kCounter, inner);
      packet_.message(packet::kTrack, descriptor);
      emit(kNeeded);
      follow(link->course);
      count(0, timeline_.length);
    }
  }

  void follow(const std::vector<double>& course) {
    const double part_ps = static_cast<double>(timeline_.length.in_ps()) / static_cast<double>(course.size());
    for (std::size_t i = 0; i < course.size(); ++i)
      if (i == 0 || course[i] != course[i - 1])
        count(100 * course[i], duration_from_ps(static_cast<double>(i) * part_ps));
  }

  void count(double value, Duration when) {
    event_.clear();
    event_.varint(event::kType, event::kCount);
    event_.varint(event::kTrack, uuid_);
    event_.real(event::kDouble, value);
    at(when);
  }

  const Timeline& timeline_;
  std::vector<Lane> lanes_;
  std::vector<std::uint64_t> process_uuid_, lane_uuid_;
  Csr<std::uint32_t> effects_;
  std::uint64_t uuid_ = 0;
  WireWriter packet_, frame_, event_, annotation_;
  std::string out_;
};

}  // namespace

std::string perfetto_bytes(const Timeline& timeline) { return TraceWriter(timeline).write(); }

}  // namespace busbar::trace
