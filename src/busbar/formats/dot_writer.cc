#include "busbar/formats/dot_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "busbar/base/quantity.h"

namespace busbar::formats {
namespace {

constexpr std::uint32_t kMostNamedDevices = 2'000;

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

const char* style_of(topology::DeviceKind k) {
  switch (k) {
    case topology::DeviceKind::kGpu:
      return "shape=box style=filled fillcolor=\"#cfe8cf\"";
    case topology::DeviceKind::kNic:
      return "shape=box style=filled fillcolor=\"#f3e0c0\"";
    case topology::DeviceKind::kCpu:
    case topology::DeviceKind::kNuma:
      return "shape=box style=filled fillcolor=\"#e0e0e0\"";
    default:
      return "shape=ellipse style=filled fillcolor=\"#d5dff2\"";
  }
}

/// If blocks are single boxes, a device of a block is named after its block.
class Names {
 public:
  Names(const topology::Topology& t) : t_(t), whole_(t.device_count() <= kMostNamedDevices) {}
  bool whole() const { return whole_; }
  std::string of(topology::DeviceId d) const {
    const topology::BlockId b = t_.block_of(d);
    return whole_ || b == kNone<topology::BlockId> ? t_.name(d) : fmt::format("node{}", index(b));
  }

 private:
  const topology::Topology& t_;
  bool whole_;
};

void write_block(const topology::Topology& t, std::uint32_t b, bool whole, std::string& out) {
  const topology::Block& block = t.blocks()[b];
  const std::string kind = t.templates()[block.template_index].name;
  if (!whole) {
    out += fmt::format("  \"node{}\" [shape=box label={}];\n", b, quoted(fmt::format("node{} {}", b, kind)));
    return;
  }
  out += fmt::format("  subgraph \"cluster_node{}\" {{\n    label={};\n", b, quoted(fmt::format("node{} {}", b, kind)));
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto d = static_cast<topology::DeviceId>(block.first_device + p);
    const std::string name = t.name(d);
    out += fmt::format("    {} [label={} {}];\n", quoted(name), quoted(name.substr(name.find('.') + 1)),
                       style_of(t.kind(d)));
  }
  out += "  }\n";
}

}  // namespace

std::string write_dot(const topology::Topology& t, const std::string& name) {
  const Names names(t);
  std::string out = fmt::format("graph {} {{\n  layout=dot;\n  ranksep=1;\n", quoted(name));
  for (std::uint32_t b = 0; b < t.blocks().size(); ++b) write_block(t, b, names.whole(), out);
  for (const topology::DeviceId s : t.fabric_switches())
    out += fmt::format("  {} [{}];\n", quoted(t.name(s)), style_of(t.kind(s)));
  struct Edge {
    topology::LinkId first{};
    double rate = 0;
    std::uint32_t cables = 0;
  };
  std::map<std::pair<topology::DeviceId, topology::DeviceId>, Edge> edges;
  for (std::uint32_t i = 0; i < t.link_count(); i += 2) {
    const auto l = static_cast<topology::LinkId>(i);
    if (t.failed(l)) continue;
    const topology::BlockId a = t.block_of(t.from(l)), b = t.block_of(t.to(l));
    if (!names.whole() && a == b && a != kNone<topology::BlockId>) continue;
    const auto end = [&](topology::DeviceId d, topology::BlockId block) {  // any device represents its block
      return names.whole() || block == kNone<topology::BlockId>
                 ? d
                 : static_cast<topology::DeviceId>(t.blocks()[index(block)].first_device);
    };
    const topology::DeviceId x = end(t.from(l), a), y = end(t.to(l), b);
    Edge& e = edges[{std::min(x, y), std::max(x, y)}];
    if (e.cables++ == 0) e.first = l;
    e.rate += static_cast<double>(per_second(t.link_class(l).floor_rate()));
  }
  for (const auto& [ends, e] : edges)
    out += fmt::format(
        "  {} -- {} [label={}];\n", quoted(names.of(ends.first)), quoted(names.of(ends.second)),
        quoted(fmt::format("{}{}", e.cables > 1 ? fmt::format("{} x, ", e.cables) : "", format_rate(e.rate))));
  return out + "}\n";
}

}  // namespace busbar::formats
