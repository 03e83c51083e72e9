#include "busbar/trace/perfetto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "busbar/trace/internal/wire.h"

namespace busbar::trace {
namespace {

/// Decodes the wire format: field number -> values, numbers and bytes separately.
struct Message {
  std::multimap<std::uint32_t, std::uint64_t> numbers;
  std::multimap<std::uint32_t, std::string> bytes;

  explicit Message(std::string_view in) {
    for (std::size_t i = 0; i < in.size();) {
      const std::uint64_t key = varint(in, i);
      const auto field = static_cast<std::uint32_t>(key >> 3);
      switch (key & 7) {
        case 0:
          numbers.emplace(field, varint(in, i));
          break;
        case 1: {
          std::uint64_t v = 0;
          for (int b = 0; b < 8; ++b)
            v |= static_cast<std::uint64_t>(static_cast<unsigned char>(in.at(i++))) << (8 * b);
          numbers.emplace(field, v);
          break;
        }
        case 2: {
          const std::size_t n = varint(in, i);
          if (i + n > in.size()) throw std::out_of_range("length");
          bytes.emplace(field, in.substr(i, n));
          i += n;
          break;
        }
        default:
          throw std::out_of_range("wire type");
      }
    }
  }
  std::uint64_t number(std::uint32_t field) const {
    const auto it = numbers.find(field);
    return it == numbers.end() ? ~std::uint64_t{0} : it->second;
  }
  std::string text(std::uint32_t field) const {
    const auto it = bytes.find(field);
    return it == bytes.end() ? "" : it->second;
  }

 private:
  static std::uint64_t varint(std::string_view in, std::size_t& i) {
    std::uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
      const auto c = static_cast<unsigned char>(in.at(i++));
      v |= static_cast<std::uint64_t>(c & 0x7F) << shift;
      if (c < 0x80) return v;
    }
  }
};

struct Slice {
  std::string process, thread, name, category, bound_by, cause;
  std::uint64_t begin = 0, end = 0;
  bool operator==(const Slice&) const = default;
};

/// Shows the bytes as a viewer does: events in stable order of time, a stack per track.
struct Viewer {
  std::map<std::uint64_t, std::string> process, thread, counter, categories, names, strings;
  std::map<std::uint64_t, std::uint64_t> parent;
  std::vector<Slice> slices;
  std::map<std::string, std::vector<std::pair<std::uint64_t, double>>> counts;
  std::map<std::string, std::map<std::string, std::string>> arguments;  ///< by name of slice
  std::multimap<std::uint64_t, std::string> flows;                      ///< flow id -> names of slices
  bool balanced = true;

  explicit Viewer(const std::string& trace) {
    std::vector<std::pair<std::uint64_t, Message>> events;
    const Message all(trace);
    for (const auto& [field, bytes] : all.bytes) {
      const Message p(bytes);
      EXPECT_EQ(p.number(10), 1u);
      if (p.bytes.count(12)) intern(Message(p.text(12)));
      if (p.bytes.count(60)) describe(Message(p.text(60)));
      if (p.bytes.count(11)) events.emplace_back(p.number(8), Message(p.text(11)));
    }
    std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::map<std::uint64_t, std::vector<Slice>> open;
    for (const auto& [when, e] : events) {
      const std::uint64_t track = e.number(11);
      if (e.number(9) == 1) {
        open[track].push_back(begin(e, when));
      } else if (e.number(9) == 2) {
        if (open[track].empty()) {
          balanced = false;
          continue;
        }
        open[track].back().end = when;
        slices.push_back(open[track].back());
        open[track].pop_back();
      } else if (e.number(9) == 4) {
        counts[counter.at(track)].emplace_back(when, std::bit_cast<double>(e.number(44)));
      }
    }
    for (const auto& [track, rest] : open) balanced = balanced && rest.empty();
  }

 private:
  void intern(const Message& m) {
    const auto read = [&](std::uint32_t field, std::map<std::uint64_t, std::string>& into) {
      for (auto [it, end] = m.bytes.equal_range(field); it != end; ++it) {
        const Message entry(it->second);
        into[entry.number(1)] = entry.text(2);
      }
    };
    read(1, categories);
    read(2, names);
    read(29, strings);
  }
  void describe(const Message& m) {
    if (m.bytes.count(3)) process[m.number(1)] = Message(m.text(3)).text(6);
    if (m.bytes.count(4)) thread[m.number(1)] = Message(m.text(4)).text(5);
    if (m.bytes.count(8)) counter[m.number(1)] = m.text(2);
    if (m.numbers.count(5)) parent[m.number(1)] = m.number(5);
  }
  Slice begin(const Message& e, std::uint64_t when) {
    Slice s;
    s.thread = thread.at(e.number(11));
    s.process = process.at(parent.at(e.number(11)));
    s.name = names.at(e.number(10));
    s.category = categories.at(e.number(3));
    s.begin = when;
    for (auto [it, end] = e.bytes.equal_range(4); it != end; ++it) {
      const Message a(it->second);
      const std::uint64_t name = a.number(1);
      if (name <= 2) (name == 1 ? s.bound_by : s.cause) = strings.at(a.number(17));
      if (name == 3) arguments[s.name]["algorithm"] = strings.at(a.number(17));
      if (name == 4) arguments[s.name]["bytes"] = std::to_string(a.number(3));
      if (name == 5) arguments[s.name]["exposed_us"] = std::to_string(std::bit_cast<double>(a.number(5)));
    }
    for (auto [it, end] = e.numbers.equal_range(47); it != end; ++it) flows.emplace(it->second, s.name);
    return s;
  }
};

SimTime ps(std::int64_t n) { return SimTime::at(Duration::ps(n)); }

Timeline two_streams() {
  Timeline t;
  t.tracks = {{"stage 0", "compute"}, {"stage 0", "communication"}, {"stage 1", "compute"}};
  t.strings = {"forward", "compute", "all_gather", "tp", "NVLink gpu0 -> nvswitch1", "leaf3 -> spine1"};
  t.spans = {{TrackId{0}, 0, 1, ps(0), Duration::ps(1'499)},
             {TrackId{1}, 2, 3, ps(1'499), Duration::ps(2'000'001), SpanId{0}, 4},
             {TrackId{2}, 0, 1, ps(5'000'000), Duration::ps(7'000'500)}};
  t.links = {{7, 1000, 0.25, 5, {0.5, 0.5, 0, 0}}, {9, 10, 0.5, kNoString, {1, 0}}, {11, 10, 0.5, kNoString, {}}};
  t.length = Duration::us(20);
  return t;
}

TEST(Perfetto, SlicesComeBackWithTrackNameCategoryBoundAndCause) {
  const Viewer v(perfetto_bytes(two_streams()));
  EXPECT_TRUE(v.balanced);
  EXPECT_THAT(v.slices,
              testing::UnorderedElementsAre(Slice{"stage 0", "compute", "forward", "compute", "", "", 0, 1},
                                            Slice{"stage 0", "communication", "all_gather", "tp",
                                                  "NVLink gpu0 -> nvswitch1", "forward", 1, 2'002},
                                            Slice{"stage 1", "compute", "forward", "compute", "", "", 5'000, 12'001}));
}

TEST(Perfetto, CollectivesCarrySizeAlgorithmAndTheTimeTheyAreExposed) {
  Timeline t = two_streams();
  t.strings.push_back("ring");
  t.spans[1].algorithm = static_cast<std::uint32_t>(t.strings.size() - 1);
  t.spans[1].bytes = 4096;
  t.spans[1].exposed = Duration::us(2);
  const Viewer v(perfetto_bytes(t));
  using testing::Pair;
  EXPECT_THAT(v.arguments, testing::ElementsAre(
                               Pair("all_gather", testing::ElementsAre(Pair("algorithm", "ring"), Pair("bytes", "4096"),
                                                                       Pair("exposed_us", "2.000000")))));
}

TEST(Perfetto, AFlowOfItsOwnLeadsFromACauseToEachEffect) {
  Timeline t = two_streams();
  t.spans[2].cause = SpanId{0};
  t.spans[2].label = 3;
  const Viewer v(perfetto_bytes(t));
  using testing::Pair;
  EXPECT_THAT(v.flows, testing::UnorderedElementsAre(Pair(2u, "forward"), Pair(2u, "all_gather"), Pair(3u, "forward"),
                                                     Pair(3u, "tp")));
}

TEST(Perfetto, CoursesOfLinksAreCountersInPercentThatEndWithTheRun) {
  const Viewer v(perfetto_bytes(two_streams()));
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_EQ(v.counts.size(), 2u) << "link 11 has no course";
  EXPECT_THAT(v.counts.at("leaf3 -> spine1"), ElementsAre(Pair(0, 50), Pair(10'000, 0), Pair(20'000, 0)));
  EXPECT_THAT(v.counts.at("link 9"), ElementsAre(Pair(0, 100), Pair(10'000, 0), Pair(20'000, 0)));
}

TEST(Perfetto, SpansThatTouchStillTouchAfterRounding) {
  Timeline t;
  t.tracks = {{"p", "t"}};
  t.strings = {"x"};
  for (int i = 0; i < 1000; ++i) t.spans.push_back({TrackId{0}, 0, 0, ps(i * 1'333), Duration::ps(1'333)});
  const Viewer v(perfetto_bytes(t));
  ASSERT_EQ(v.slices.size(), 1000u);
  for (std::size_t i = 0; i + 1 < v.slices.size(); ++i) EXPECT_EQ(v.slices[i].end, v.slices[i + 1].begin);
}

TEST(Perfetto, SpansThatOverlapWithoutNestingGetARowOfTheirOwn) {
  Timeline t;
  t.tracks = {{"p", "t"}};
  t.strings = {"a", "b", "inside a"};
  t.spans = {{TrackId{0}, 0, 0, ps(0), Duration::ns(10)},
             {TrackId{0}, 1, 0, ps(5'000), Duration::ns(10)},
             {TrackId{0}, 2, 0, ps(6'000), Duration::ns(2)}};
  const Viewer v(perfetto_bytes(t));
  EXPECT_TRUE(v.balanced);
  EXPECT_THAT(v.slices, testing::UnorderedElementsAre(Slice{"p", "t", "a", "a", "", "", 0, 10},
                                                      Slice{"p", "t (2)", "b", "a", "", "", 5, 15},
                                                      Slice{"p", "t", "inside a", "a", "", "", 6, 8}));
}

RC_GTEST_PROP(Perfetto, AnySpansComeBackWithTheirOwnRoundedEnds,
              (std::vector<std::pair<std::uint16_t, std::uint16_t>> raw)) {
  Timeline t;
  t.tracks = {{"p", "t"}, {"p", "u"}};
  std::multimap<std::uint64_t, std::uint64_t> want, got;
  for (const auto& [start, length] : raw) {
    t.strings.push_back("x");
    const std::uint64_t from = start * 37u, to = from + length * 11u;
    const auto id = static_cast<std::uint32_t>(t.spans.size());
    t.spans.push_back({TrackId{start % 2u}, id, id, ps(static_cast<std::int64_t>(from)), Duration::ps(length * 11)});
    want.emplace((from + 500) / 1000, (to + 500) / 1000);
  }
  const Viewer v(perfetto_bytes(t));
  RC_ASSERT(v.balanced);
  for (const Slice& s : v.slices) got.emplace(s.begin, s.end);
  const auto sorted = [](const auto& m) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> out(m.begin(), m.end());
    std::sort(out.begin(), out.end());
    return out;
  };
  RC_ASSERT(sorted(got) == sorted(want));
}

TEST(Perfetto, ATimelineWithIdsOutOfRangeLosesOnlyTheUnknownParts) {
  Timeline t;
  t.tracks = {{"p", "t"}};
  t.strings = {"x"};
  t.spans = {{TrackId{0}, 0, 0, ps(0), Duration::ns(1), SpanId{77}, 99}, {TrackId{5}, 0, 0, ps(0), Duration::ns(1)}};
  const Viewer v(perfetto_bytes(t));
  EXPECT_THAT(v.slices, testing::ElementsAre(Slice{"p", "t", "x", "x", "", "", 0, 1}));
}

TEST(Perfetto, AHundredThousandSpansTakeLessThanTenMegabytes) {
  Timeline t;
  t.tracks = {{"p", "t"}, {"p", "u"}};
  t.strings = {"x", "y"};
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    t.spans.push_back({TrackId{i % 2}, 0, 1, ps(i * 1'000'000LL), Duration::us(1), i > 0 ? SpanId{i - 1} : kNoSpan, 1});
  }
  const std::string bytes = perfetto_bytes(t);
  EXPECT_LT(bytes.size(), 10'000'000u);
}

TEST(Wire, NumbersTakeTheBytesOfThePublishedExample) {
  WireWriter w;
  w.varint(1, 150);  // "Protocol Buffers, Encoding": message Test1 { optional int32 a = 1; } with a = 150
  EXPECT_EQ(w.text(), std::string("\x08\x96\x01"));
  w.clear();
  w.bytes(2, "testing");
  EXPECT_EQ(w.text(), std::string("\x12\x07testing"));
}

}  // namespace
}  // namespace busbar::trace
