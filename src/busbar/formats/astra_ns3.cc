#include "busbar/formats/internal/astra_ns3.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "busbar/base/quantity.h"
#include "busbar/formats/lines.h"

namespace busbar::formats {
namespace {

constexpr std::int64_t kMostNodes = 8192, kMostNs3Links = 1'000'000;

/// Reads all whole numbers of the line; false if it contains anything else.
bool integers(std::string_view line, std::vector<std::int64_t>& out) {
  LineCursor c(line);
  out.clear();
  for (c.blanks(); !c.at_end(); c.blanks()) {
    std::int64_t v = 0;
    if (!c.integer(v) || !(c.at_end() || c.rest()[0] == ' ' || c.rest()[0] == '\t')) return false;
    out.push_back(v);
  }
  return !out.empty();
}

class Ns3Reader {
 public:
  Ns3Reader(std::string_view text, const std::string& name) : lines_(LineSource::of_text(text, name)) {}

  Result<Ns3Topology> read() {
    std::vector<std::int64_t> counts;
    if (!next() || !integers(line_, counts) || counts.size() != 3)
      return wrong("needs the numbers of nodes, switches and links, such as '9 1 8'");
    if (counts[0] < 1 || counts[0] > kMostNodes)
      return wrong(fmt::format("needs 1 to {} nodes, not {}", kMostNodes, counts[0]));
    if (counts[1] < 0 || counts[1] >= counts[0]) return wrong("needs fewer switches than nodes, and none below zero");
    if (counts[2] < 0 || counts[2] > kMostNs3Links) return wrong(fmt::format("needs at most {} links", kMostNs3Links));
    out_.is_switch.resize(static_cast<std::size_t>(counts[0]));
    BUSBAR_RETURN_IF_ERROR(switches(counts[1]));
    for (std::int64_t i = 0; i < counts[2]; ++i) {
      if (!next()) return wrong(fmt::format("ends after {} of {} links", i, counts[2]));
      BUSBAR_RETURN_IF_ERROR(link());
    }
    while (next()) add_unknown(out_.unknown, lines_.number(), "line after the last link");
    BUSBAR_RETURN_IF_ERROR(in_one_piece());
    return std::move(out_);
  }

 private:
  /// Moves to the next line that is not blank.
  bool next() {
    while (lines_.next(line_))
      if (line_ = trimmed(line_); !line_.empty()) return true;
    return false;
  }
  Error wrong(std::string what) const { return invalid(std::move(what), lines_.where()); }

  Status switches(std::int64_t number) {
    std::vector<std::int64_t> ids;
    for (std::int64_t found = 0; found < number; found += static_cast<std::int64_t>(ids.size())) {
      if (!next() || !integers(line_, ids)) return wrong(fmt::format("needs the numbers of {} switches", number));
      for (const std::int64_t id : ids) {
        if (id < 0 || id >= static_cast<std::int64_t>(out_.is_switch.size()))
          return wrong(fmt::format("switch {} is not one of the {} nodes", id, out_.is_switch.size()));
        if (out_.is_switch[static_cast<std::size_t>(id)]) return wrong(fmt::format("switch {} is listed twice", id));
        out_.is_switch[static_cast<std::size_t>(id)] = true;
      }
      if (found + static_cast<std::int64_t>(ids.size()) > number)
        return wrong(fmt::format("lists more than {} switches", number));
    }
    return {};
  }

  Result<std::uint32_t> end(LineCursor& c) const {
    std::int64_t id = 0;
    c.blanks();
    if (!c.integer(id)) return wrong("needs a link, such as '0 8 400Gbps 0.0005ms 0'");
    if (id < 0 || id >= static_cast<std::int64_t>(out_.is_switch.size()))
      return wrong(fmt::format("{} is not one of the {} nodes", id, out_.is_switch.size()));
    return static_cast<std::uint32_t>(id);
  }

  Status link() {
    Ns3Link l;
    LineCursor c(line_);
    BUSBAR_ASSIGN(l.from, end(c));
    BUSBAR_ASSIGN(l.to, end(c));
    if (l.from == l.to) return wrong(fmt::format("links node {} to itself", l.from));
    c.blanks();
    std::string rate(c.word());
    if (rate.ends_with("bps")) rate.replace(rate.size() - 3, 3, "b/s");
    const Result<BytesPerSecond> parsed = parse_rate(rate);
    if (!parsed.ok()) return wrong(parsed.error().message);
    l.rate = *parsed;
    c.blanks();
    const Result<Duration> latency = parse_duration(c.word());
    if (!latency.ok()) return wrong(latency.error().message);
    l.latency = *latency;
    c.blanks();
    double loss = 0;
    if (!c.at_end() && !c.number(loss)) return wrong(fmt::format("'{}' is not an error rate", c.rest()));
    if (loss != 0) add_unknown(out_.unknown, lines_.number(), "error rate of a link");
    c.blanks();
    if (!c.at_end()) add_unknown(out_.unknown, lines_.number(), "field after the error rate of a link");
    out_.links.push_back(l);
    return {};
  }

  Status in_one_piece() const {
    std::vector<std::uint32_t> up(out_.is_switch.size());
    std::iota(up.begin(), up.end(), 0u);
    const auto top = [&](std::uint32_t n) {
      while (up[n] != n) n = up[n] = up[up[n]];
      return n;
    };
    for (const Ns3Link& l : out_.links) up[std::max(top(l.from), top(l.to))] = std::min(top(l.from), top(l.to));
    for (std::uint32_t n = 0; n < up.size(); ++n)
      if (top(n) != 0)
        return invalid(fmt::format("no links lead from node 0 to node {}", n), {lines_.name(), 0, 0, ""});
    return {};
  }

  LineSource lines_;
  std::string_view line_;
  Ns3Topology out_;
};

}  // namespace

bool looks_like_ns3_topology(std::string_view head) {
  std::vector<std::int64_t> counts;
  const std::size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == head.npos) return false;
  const std::string_view first = head.substr(begin, head.find('\n', begin) - begin);
  return integers(trimmed(first), counts) && counts.size() == 3 && head.find("bps") != head.npos;
}

Result<Ns3Topology> read_ns3_topology(std::string_view text, const std::string& name) {
  return Ns3Reader(text, name).read();
}

Result<ImportedMachine> machine_of(const Ns3Topology& topology) {
  topology::NodeTemplate node;
  node.name = "astra-sim";
  const bool switched =
      std::find(topology.is_switch.begin(), topology.is_switch.end(), true) != topology.is_switch.end();
  std::vector<std::uint32_t> places;
  ImportedMachine out;
  std::uint32_t gpus = 0, switches = 0;
  for (const bool is_switch : topology.is_switch) {
    topology::TemplateDevice d;
    if (is_switch) d.device_class.kind = topology::DeviceKind::kNvSwitch;
    d.name = is_switch ? fmt::format("nvswitch{}", switches++) : fmt::format("gpu{}", gpus);
    ImportedDevice said;
    if (!is_switch) said.dev = said.rank = static_cast<int>(gpus++);
    out.devices.push_back(std::move(said));
    places.push_back(static_cast<std::uint32_t>(node.devices.size()));
    node.devices.push_back(std::move(d));
  }
  for (const Ns3Link& l : topology.links) {
    topology::LinkClass link;
    link.kind = switched ? topology::LinkKind::kNvlink : topology::LinkKind::kIci;
    link.wire_rate = l.rate;
    link.latency = l.latency;
    node.links.push_back({places[l.from], places[l.to], link});
  }
  topology::TopologyBuilder b;
  b.add_block(b.add_template(std::move(node)));
  out.topology = std::move(b).seal();
  out.notes = {
      "links carry their rate in each direction; headers, queues and flow control of ns-3 are not in this file"};
  out.unknown = topology.unknown;
  return out;
}

}  // namespace busbar::formats
