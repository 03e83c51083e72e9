#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/base/random.h"
#include "busbar/base/text.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/session.h"
#include "busbar/routing/path_view.h"
#include "busbar/step/machine.h"

namespace busbar {
namespace {

struct PathFlags {
  CommonOptions common;
  std::string cluster, a, b;
};

std::string ns_text(Duration d) { return fmt::format("{:.6g}", d.in_ns()); }

/// "node5.gpu3" on machines whose accelerators have other names ("chip3"): number 3 of the node.
std::optional<DeviceId> numbered_gpu(const Topology& t, const std::string& name) {
  const std::size_t dot = name.find('.');
  const std::string node = dot == std::string::npos ? "node0" : name.substr(0, dot);
  const std::string gpu = dot == std::string::npos ? name : name.substr(dot + 1);
  if (!node.starts_with("node") || !gpu.starts_with("gpu")) return std::nullopt;
  const auto number = [](std::string_view digits) {
    std::uint32_t n = UINT32_MAX;
    return is_number(digits, n) ? n : UINT32_MAX;
  };
  const std::uint32_t block = number(std::string_view(node).substr(4));
  std::uint32_t left = number(std::string_view(gpu).substr(3));
  if (block >= t.blocks().size()) return std::nullopt;
  const Block& b = t.blocks()[block];
  for (std::uint32_t p = 0; p < b.device_count; ++p) {
    const auto d = static_cast<DeviceId>(b.first_device + p);
    if (t.kind(d) == DeviceKind::kGpu && left-- == 0) return d;
  }
  return std::nullopt;
}

/// "node0.gpu3", "gpu3" (of node0) or a plain GPU number.
Result<DeviceId> find_device(const Topology& t, const std::string& name, const char* flag) {
  std::uint64_t number = 0;
  if (is_number(name, number)) {
    if (number < t.gpus().size()) return t.gpus()[number];
    return invalid(fmt::format("there is no GPU {}; they are numbered 0 to {}", name, t.gpus().size() - 1),
                   {"", 0, 0, flag});
  }
  for (const std::string& full : {name, "node0." + name})
    if (auto found = t.find(full); found.ok()) return *found;
  if (const auto gpu = numbered_gpu(t, name)) return *gpu;
  return Error{ErrorCode::kNotFound,
               fmt::format("there is no device '{}'; write node0.gpu3, gpu3 (of node0) or a GPU's number; 'busbar topo "
                           "CLUSTER --tree' lists them",
                           name),
               {"", 0, 0, flag}};
}

std::string part_of(const Topology& t, LinkId l) {
  const LinkClass& c = t.link_class(l);
  return c.part.empty() ? name_of(c.kind) : c.part;
}

Json to_json(const std::vector<std::pair<std::string, Duration>>& parts) {
  Json j = Json::object();
  for (const auto& [part, latency] : parts) j[part] = latency.in_ns();
  return j;
}

Json hop_to_json(const Topology& t, const PathHop& hop) {
  const LinkClass& c = t.link_class(hop.links.front().link);
  Json j{{"from", t.name(t.from(hop.links.front().link))},
         {"to", t.name(t.to(hop.links.front().link))},
         {"link", t.name(hop.links.front().link)},
         {"kind", name_of(c.kind)},
         {"class", part_of(t, hop.links.front().link)},
         {"GBps", hop.payload_GBps},
         {"wire_GBps", hop.wire_GBps},
         {"latency_ns", hop.latency.in_ns()},
         {"latency_parts_ns", to_json(hop.latency_parts)},
         {"links", Json::array()}};
  for (const LinkShare& l : hop.links) j["links"].push_back({{"link", t.name(l.link)}, {"share", l.share}});
  return j;
}

Json to_json(const PathFlags& o, const Cluster& c, const PathView& v, DeviceId a, DeviceId b) {
  const Topology& t = c.topology;
  Json j{{"schema", "busbar.path/1"}, {"cluster", c.name},       {"from", t.name(a)},
         {"to", t.name(b)},           {"type", name_of(v.type)}, {"nccl_type", name_of(v.nccl_type)},
         {"hops", Json::array()}};
  for (const PathHop& hop : v.hops) j["hops"].push_back(hop_to_json(t, hop));
  j["GBps"] = v.hops.empty() ? Json(nullptr) : Json(v.payload_GBps);
  j["wire_GBps"] = v.hops.empty() ? Json(nullptr) : Json(v.wire_GBps);
  j["latency_ns"] = v.latency.in_ns();
  j["latency_parts_ns"] = to_json(v.latency_parts);
  j["copied_in"] = Json::array();
  for (const DeviceId d : v.copied_in) j["copied_in"].push_back(t.name(d));
  j["bottleneck"] = nullptr;
  if (v.bottleneck != kNone<LinkId>) {
    j["bottleneck"] = {{"link", t.name(v.bottleneck)}, {"class", part_of(t, v.bottleneck)}};
    j["bound_by"] = {
        {"link", t.name(v.bottleneck)}, {"class", part_of(t, v.bottleneck)}, {"phase", nullptr}, {"kind", "bandwidth"}};
  }
  j["shared_with"] = v.shared_with;
  j["shared_count"] = v.shared_count;
  j["inputs_hash"] = inputs_hash(o.common, c.text);
  return j;
}

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

Table latency_table(const PathView& v) {
  Table out{"Latency by part", {to_left("part"), "ns", to_left("what it counts")}};
  for (const auto& [part, latency] : v.latency_parts) out.rows.push_back({part, ns_text(latency), counted(part)});
  out.rows.push_back({"sum", ns_text(v.latency), "first bit in to first bit out, without software"});
  return out;
}

const char* meaning(PathType type) {
  constexpr const char* kNames[] = {
      "the device itself",
      "scale-up links, directly or through switches",
      "scale-up links with a GPU between them",
      "a chip-to-chip link between GPU and CPU",
      "at most one PCIe switch",
      "several PCIe switches, no host bridge",
      "a chip-to-chip link, then the CPU that owns the NIC",
      "to a NIC through another GPU",
      "through a CPU's host bridge",
      "across sockets or NUMA nodes",
      "through the network",
      "no path",
  };
  static_assert(std::size(kNames) == static_cast<std::size_t>(PathType::kDis) + 1);
  return kNames[static_cast<std::size_t>(type)];
}

Document to_document(const PathFlags& o, const Cluster& c, const PathView& v, DeviceId a, DeviceId b) {
  const Topology& t = c.topology;
  Document d{fmt::format("{} to {} in {}", t.name(a), t.name(b), c.name), o.common.typed, {}};
  Facts facts;
  facts.items = {{"type", fmt::format("{}, {}", name_of(v.type), meaning(v.type))}};
  if (v.nccl_type != v.type)
    facts.items.emplace_back("NCCL", fmt::format("would find {}, {}", name_of(v.nccl_type), meaning(v.nccl_type)));
  if (!v.hops.empty()) {
    facts.items.emplace_back("rate", fmt::format("{} of payload per direction, {} on the wire",
                                                 format_rate(v.payload_GBps * 1e9), format_rate(v.wire_GBps * 1e9)));
    facts.items.emplace_back("bound by", fmt::format("{} ({}, {})", brand_of(t.link_class(v.bottleneck)),
                                                     part_of(t, v.bottleneck), t.name(v.bottleneck)));
  }
  std::string copies;
  for (const DeviceId m : v.copied_in) copies += (copies.empty() ? "" : " and ") + t.name(m);
  if (!copies.empty()) facts.items.emplace_back("copied in", copies + ", host memory: no direct access to the GPU");
  facts.items.emplace_back("latency", format_duration(v.latency.in_s()));
  std::string shared;
  for (std::size_t i = 0; i < std::min<std::size_t>(6, v.shared_with.size()); ++i)
    shared += (i > 0 ? ", " : "") + v.shared_with[i];
  if (v.shared_count > 6) shared += fmt::format(" and {} more", v.shared_count - 6);
  facts.items.emplace_back("shared with", shared.empty() ? "nothing" : shared);
  if (!v.hops.empty())
    d.add(Highlight{fmt::format("{} and {}: {}, limited by {}.", format_rate(v.payload_GBps * 1e9),
                                format_duration(v.latency.in_s()), meaning(v.type),
                                brand_of(t.link_class(v.bottleneck)))},
          Audience::kPage);
  d.add(facts);
  if (v.hops.empty()) return d;
  Table table{
      "Hops",
      {to_left("from"), to_left("to"), to_left("link"), "links", "payload (GB/s)", "wire (GB/s)", "latency (ns)"}};
  for (const PathHop& hop : v.hops) {
    const LinkId l = hop.links.front().link;
    const std::string more = hop.links.size() > 1 ? fmt::format(" and {} more", hop.links.size() - 1) : "";
    table.rows.push_back({t.name(t.from(l)), t.name(t.to(l)) + more, part_of(t, l), std::to_string(hop.links.size()),
                          format_number(hop.payload_GBps), format_number(hop.wire_GBps), ns_text(hop.latency)});
  }
  table.note =
      "Rates are for one connection over all links of a hop, per direction; latency is from first bit in to first bit "
      "out, without software.";
  d.add(table);
  d.add(latency_table(v));
  return d;
}

Result<int> run(const PathFlags& o) {
  BUSBAR_ASSIGN(const Cluster cluster, load_machine(o.cluster, o.common.overrides));
  BUSBAR_ASSIGN(const DeviceId a, find_device(cluster.topology, o.a, "A"));
  BUSBAR_ASSIGN(const DeviceId b, find_device(cluster.topology, o.b, "B"));
  const Router router(cluster.topology, cluster.routing, cluster.seed);
  BUSBAR_ASSIGN(const PathView view, view_path(router, a, b, {cluster.gpudirect, cluster.p2p}));
  Json j = to_json(o, cluster, view, a, b);
  return deliver(o.common, j, to_document(o, cluster, view, a, b));
}

}  // namespace

Command path_command(const std::string& typed) {
  const auto o = std::make_shared<PathFlags>();
  Command c = new_command(o->common, typed, "path",
                          "the path between two devices: type, hops, bottleneck, latency, what else uses it");
  c.examples =
      "  busbar path dgx-h100 gpu0 gpu7\n"
      "  busbar path dgx-h100:64 0 511\n"
      "  busbar path dgx-a100 node0.gpu0 node0.nic0 --json\n";
  c.positionals = {cluster_word(o->cluster),
                   {"A", "a device: node0.gpu3, gpu3 (of node0), or a GPU's number", &o->a},
                   {"B", "the other device", &o->b}};
  c.flags.push_back(cluster_flag(o->cluster));
  add_common_flags(c, o->common, Engines::kNone);
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
