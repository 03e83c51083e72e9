// The path between two devices.
#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/quantity.h"
#include "busbar/questions/path_question.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::Hop;
using questions::PathRequest;
using questions::PathResult;

std::string ns_text(double ns) { return fmt::format("{:.6g}", ns); }

const char* counted(std::string_view part) {
  if (part == "scale-up") return "NVLink, xGMI, ICI and their switches";
  if (part == "PCIe") return "slots, PCIe switches, host bridges, the host side of NICs";
  if (part == "sockets") return "between sockets, and to host memory";
  if (part == "NIC") return "half of each NIC, its fabric side";
  if (part == "switch") return "switches of the fabric, port to port";
  if (part == "frame") return "store-and-forward switches receive a whole frame first";
  if (part == "FEC") return "error correction per cable; 0: contained in NICs and switches";
  if (part == "cable") return "length of the cables";
  return "cables whose latency is known only in total";
}

report::Table latency_table(const PathResult& r) {
  report::Table out{"Latency by part", {report::to_left("part"), "ns", report::to_left("what it counts")}};
  for (const auto& [part, ns] : r.latency_parts_ns) out.rows.push_back({part, ns_text(ns), counted(part)});
  out.rows.push_back({"sum", ns_text(r.latency_ns), "first bit in to first bit out, without software"});
  return out;
}

/// "a and b", or the first six and how many more.
std::string sharers(const PathResult& r) {
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(6, r.shared_with.size()); ++i)
    out += (i > 0 ? ", " : "") + r.shared_with[i];
  if (r.shared_count > 6) out += fmt::format(" and {} more", r.shared_count - 6);
  return out.empty() ? "nothing" : out;
}

report::Facts path_facts(const PathResult& r) {
  report::Facts facts;
  facts.items = {{"type", fmt::format("{}, {}", r.type, r.meaning)}};
  if (r.nccl_type != r.type)
    facts.items.emplace_back("NCCL", fmt::format("would find {}, {}", r.nccl_type, r.nccl_meaning));
  if (r.bottleneck) {
    facts.items.emplace_back("rate", fmt::format("{} of payload per direction, {} on the wire",
                                                 format_rate(*r.GBps * 1e9), format_rate(*r.wire_GBps * 1e9)));
    facts.items.emplace_back("bound by", fmt::format("{} ({}, {})", r.brand, r.bottleneck->part, r.bottleneck->link));
  }
  std::string copies;
  for (const std::string& m : r.copied_in) copies += (copies.empty() ? "" : " and ") + m;
  if (!copies.empty()) facts.items.emplace_back("copied in", copies + ", host memory: no direct access to the GPU");
  facts.items.emplace_back("latency", format_duration(r.latency_ns * 1e-9));
  facts.items.emplace_back("shared with", sharers(r));
  return facts;
}

report::Table hops_table(const PathResult& r) {
  report::Table table{"Hops",
                      {report::to_left("from"), report::to_left("to"), report::to_left("link"), "links",
                       "payload (GB/s)", "wire (GB/s)", "latency (ns)"}};
  for (const Hop& h : r.hops) {
    const std::string more = h.links.size() > 1 ? fmt::format(" and {} more", h.links.size() - 1) : "";
    table.rows.push_back({h.from, h.to + more, h.part, std::to_string(h.links.size()), format_number(h.GBps),
                          format_number(h.wire_GBps), ns_text(h.latency_ns)});
  }
  table.note =
      "Rates are for one connection over all links of a hop, per direction; latency is from first bit in to first bit "
      "out, without software.";
  return table;
}

report::Document path_document(const PathRequest&, const PathResult& r) {
  report::Document d{fmt::format("{} to {} in {}", r.from, r.to, r.cluster), {}, {}};
  if (r.hops.empty()) {
    d.add(path_facts(r));
    return d;
  }
  d.add(report::Highlight{fmt::format("{} and {}: {}, limited by {}.", format_rate(*r.GBps * 1e9),
                                      format_duration(r.latency_ns * 1e-9), r.meaning, r.brand)},
        report::Audience::kPage);
  d.add(path_facts(r));
  d.add(hops_table(r));
  d.add(latency_table(r));
  return d;
}

}  // namespace

View path_view() { return make_view("path", path_document); }

}  // namespace busbar::views
