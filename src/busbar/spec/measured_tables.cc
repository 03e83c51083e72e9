#include "busbar/spec/measured_tables.h"

#include <fmt/core.h>

#include "busbar/base/units.h"

namespace busbar::spec {
namespace {

constexpr std::size_t kMostCalls = 1000;  // 0.2 s to read
constexpr int kMostLines = 1'000'000'000;

/// In double quotes.
std::string in_quotes(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// What all calls of a table have in common is in the table.
Result<program::MeasuredCall> read_call(const YamlNode& map, const program::CallTraits& common) {
  constexpr double kLeastUs = 1e-3, kMostUs = 1e12;
  program::MeasuredCall out{common, 0, 0};
  Bytes size{};
  MapReader r = sourced(map);
  r.required("size", &YamlNode::as_size, size);
  r.required("us", &YamlNode::as_number, out.us, kLeastUs, kMostUs);
  r.required("modelled_us", &YamlNode::as_number, out.modelled_us, kLeastUs, kMostUs);
  r.required("bytes_share", &YamlNode::as_number, out.call.bytes_share, 0, 1);
  r.required("way", &YamlNode::as_string, out.call.way);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  out.call.bytes = static_cast<double>(count(size));
  return out;
}

Result<MeasuredTable> read_table(const YamlNode& map) {
  MeasuredTable out;
  program::CallTraits common;
  std::string op;
  MapReader r = sourced(map);
  r.required("table", &YamlNode::as_string, out.source);
  r.optional("first_line", &YamlNode::as_int, out.first_line, 1, kMostLines);
  r.optional("last_line", &YamlNode::as_int, out.last_line, 1, kMostLines);
  r.optional("date", &YamlNode::as_string, out.date);
  r.required("collective", &YamlNode::as_string, op);
  r.required("ranks", &YamlNode::as_int, common.ranks, 2, 1'000'000);
  r.required("several_nodes", &YamlNode::as_bool, common.several_nodes);
  const YamlNode calls = r.required("calls");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  const Result<collectives::Collective> known = collectives::parse_collective(op);
  if (!known.ok()) return map.error(known.error().message);
  common.op = *known;
  BUSBAR_RETURN_IF_ERROR(read_items(
      calls, [&](const YamlNode& c) { return read_call(c, common); }, out.calls));
  return out;
}

}  // namespace

Result<std::vector<MeasuredTable>> read_measured_tables(const YamlNode& list) {
  std::vector<MeasuredTable> out;
  BUSBAR_RETURN_IF_ERROR(read_items(list, read_table, out));
  std::size_t calls = 0;
  for (const MeasuredTable& t : out) calls += t.calls.size();
  if (calls > kMostCalls)
    return list.error(fmt::format("{} measured calls are more than {}; leave out tables or sizes", calls, kMostCalls));
  return out;
}

std::string measured_yaml(const std::vector<MeasuredTable>& tables) {
  std::string out = tables.empty() ? "" : "measured:\n";
  for (const MeasuredTable& t : tables) {
    const program::CallTraits& c = t.calls.front().call;
    out += fmt::format("  - table: {}\n", in_quotes(t.source));
    if (t.first_line > 0) out += fmt::format("    first_line: {}\n    last_line: {}\n", t.first_line, t.last_line);
    if (!t.date.empty()) out += fmt::format("    date: {}\n", in_quotes(t.date));
    out += fmt::format("    collective: {}\n    ranks: {}\n    several_nodes: {}\n    calls:\n",
                       collectives::name_of(c.op), c.ranks, c.several_nodes);
    for (const program::MeasuredCall& m : t.calls)
      out += fmt::format("      - {{size: {:.0f}B, us: {:.6g}, modelled_us: {:.6g}, bytes_share: {:.4f}, way: {}}}\n",
                         m.call.bytes, m.us, m.modelled_us, m.call.bytes_share, in_quotes(m.call.way));
  }
  return out;
}

std::shared_ptr<const program::MeasuredCalls> as_calls(const std::vector<MeasuredTable>& tables) {
  std::vector<program::MeasuredCall> all;
  for (const MeasuredTable& t : tables) all.insert(all.end(), t.calls.begin(), t.calls.end());
  return all.empty() ? nullptr : std::make_shared<const program::MeasuredCalls>(std::move(all));
}

}  // namespace busbar::spec
