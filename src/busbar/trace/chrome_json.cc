#include "busbar/trace/chrome_json.h"

#include <fmt/core.h>

#include <map>

#include "busbar/trace/file.h"
#include "busbar/trace/nesting.h"

namespace busbar {
namespace {

/// A JSON string with its quotes. Bytes beyond ASCII pass as they are.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// "12.000345": microseconds, all picoseconds kept.
std::string microseconds(Duration t) {
  const std::int64_t ps = t.in_ps();
  return fmt::format("{}{}.{:06}", ps < 0 ? "-" : "", (ps < 0 ? -ps : ps) / 1'000'000, (ps < 0 ? -ps : ps) % 1'000'000);
}

std::string metadata(const char* what, std::size_t pid, std::size_t tid, const std::string& name) {
  return fmt::format("{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}", what, pid, tid,
                     quoted(name));
}

std::string chrome_event(const Timeline& timeline, const Span& s, std::size_t pid, std::size_t tid) {
  std::string args;
  const auto add = [&](const char* key, std::string_view value) {
    if (!value.empty()) args += fmt::format("{}\"{}\":{}", args.empty() ? "" : ",", key, quoted(value));
  };
  add("bound_by", string_at(timeline, s.bound_by));
  const auto cause = static_cast<std::size_t>(s.cause);
  if (cause < timeline.spans.size()) add("cause", string_at(timeline, timeline.spans[cause].label));
  return fmt::format(
      "{{\"ph\":\"X\",\"name\":{},\"cat\":{},\"ts\":{},\"dur\":{},\"pid\":{},\"tid\":{},\"args\":{{{}}}}}",
      quoted(string_at(timeline, s.label)), quoted(string_at(timeline, s.category)),
      microseconds(s.start.since_start()), microseconds(span_end(s) - s.start.since_start()), pid, tid, args);
}

}  // namespace

std::string chrome_json(const Timeline& timeline) {
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  const char* between = "\n";
  const auto add = [&](const std::string& line) {
    out += between;
    out += line;
    between = ",\n";
  };
  std::map<std::string, std::size_t> pids;
  std::size_t tid = 0;
  for (const Lane& lane : nest(timeline)) {
    const std::string& process = timeline.tracks[static_cast<std::size_t>(lane.track)].process;
    const auto [it, fresh] = pids.emplace(process, pids.size() + 1);
    if (fresh) add(metadata("process_name", it->second, 0, process));
    add(metadata("thread_name", it->second, ++tid, lane_name(timeline, lane)));
    for (const std::uint32_t s : lane.spans) add(chrome_event(timeline, timeline.spans[s], it->second, tid));
  }
  return out + "\n]}\n";
}

Status write_chrome_json(const Timeline& timeline, const std::string& path) {
  return write_file(chrome_json(timeline), path);
}

}  // namespace busbar
