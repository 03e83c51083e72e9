#include "busbar/questions/path_question.h"

#include <fmt/core.h>

#include <iterator>
#include <optional>

#include "busbar/base/text.h"
#include "busbar/questions/machine_request.h"
#include "busbar/questions/question.h"
#include "busbar/routing/path_view.h"
#include "busbar/step/machine.h"

namespace busbar::questions {

const Record& record_of(const PathRequest*) {
  static const Record record(
      "path request",
      joined({{cluster_field(&PathRequest::cluster),
               Field("a", &PathRequest::a, "", "a device: node0.gpu3, gpu3 (of node0), or a GPU's number")
                   .takes("A")
                   .as_word(),
               Field("b", &PathRequest::b, "", "the other device").takes("B").as_word()},
              fields_inside(&PathRequest::machine),
              {explain_field(&PathRequest::explain)}}));
  return record;
}

const Record& record_of(const LinkOfHop*) {
  static const Record record("link", {{"link", &LinkOfHop::link, "", "its name"},
                                      {"share", &LinkOfHop::share, "", "of the payload that crosses it, 0 to 1"}});
  return record;
}

const Record& record_of(const Hop*) {
  static const Record record(
      "hop", {{"from", &Hop::from, "", "the device that sends"},
              {"to", &Hop::to, "", "the device that receives"},
              {"link", &Hop::link, "", "the first link; all are in links"},
              {"kind", &Hop::kind, "", "nvlink, pcie, infiniband, ..."},
              {"class", &Hop::part, "", "its part: pcie5 x16"},
              {"GBps", &Hop::GBps, "GB/s", "payload of one connection over all links of the hop, per direction"},
              {"wire_GBps", &Hop::wire_GBps, "GB/s", "the same on the wire"},
              {"latency_ns", &Hop::latency_ns, "ns", "first bit in to first bit out, without software"},
              {"latency_parts_ns", &Hop::latency_parts_ns, "ns", "of which by part: PCIe, NIC, cable, ..."},
              {"links", &Hop::links, "", "all links, with the share of the payload on each"}});
  return record;
}

const Record& record_of(const NamedLink*) {
  static const Record record("link",
                             {{"link", &NamedLink::link, "", "its name"}, {"class", &NamedLink::part, "", "its part"}});
  return record;
}

const Record& record_of(const PathResult*) {
  static const Record record(
      "path",
      {{"cluster", &PathResult::cluster, "", "name of the machine"},
       {"from", &PathResult::from, "", "the first device"},
       {"to", &PathResult::to, "", "the last device"},
       {"type", &PathResult::type, "", "LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS, NET or DIS"},
       {"nccl_type", &PathResult::nccl_type, "", "what NCCL would find"},
       {"hops", &PathResult::hops, "", "from the first device to the last"},
       {"GBps", &PathResult::GBps, "GB/s", "payload of one connection, per direction; null: a device to itself"},
       {"wire_GBps", &PathResult::wire_GBps, "GB/s", "the same on the wire"},
       {"latency_ns", &PathResult::latency_ns, "ns", "first bit in to first bit out, without software"},
       {"latency_parts_ns", &PathResult::latency_parts_ns, "ns", "of which by part"},
       {"copied_in", &PathResult::copied_in, "", "host memories in which the payload is copied on its way"},
       {"bottleneck", &PathResult::bottleneck, "", "the link with the least payload rate per share"},
       Field("bound_by", &PathResult::bound_by, "", "the same as in every result").or_absent(),
       {"shared_with", &PathResult::shared_with, "", "other users of the bottleneck, 256 at most"},
       {"shared_count", &PathResult::shared_count, "", "of all of them"},
       {"inputs_hash", &PathResult::inputs_hash, "", "of everything that the result depends on"}});
  return record;
}

namespace {

/// "node5.gpu3" on machines whose accelerators have other names ("chip3"): number 3 of the node.
std::optional<topology::DeviceId> numbered_gpu(const topology::Topology& t, const std::string& name) {
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
  const topology::Block& b = t.blocks()[block];
  for (std::uint32_t p = 0; p < b.device_count; ++p) {
    const auto d = static_cast<topology::DeviceId>(b.first_device + p);
    if (t.kind(d) == topology::DeviceKind::kGpu && left-- == 0) return d;
  }
  return std::nullopt;
}

/// "node0.gpu3", "gpu3" (of node0) or a plain GPU number.
Result<topology::DeviceId> find_device(const topology::Topology& t, const std::string& name, const char* flag) {
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

Named<double> in_ns(const std::vector<std::pair<std::string, Duration>>& parts) {
  Named<double> out;
  for (const auto& [part, latency] : parts) out.emplace_back(part, latency.in_ns());
  return out;
}

Hop hop_of(const topology::Topology& t, const routing::PathHop& hop) {
  const topology::LinkId l = hop.links.front().link;
  Hop out{t.name(t.from(l)),
          t.name(t.to(l)),
          t.name(l),
          topology::name_of(t.link_class(l).kind),
          part_of(t, l),
          hop.payload_GBps,
          hop.wire_GBps,
          hop.latency.in_ns(),
          in_ns(hop.latency_parts),
          {}};
  for (const routing::LinkShare& s : hop.links) out.links.push_back({t.name(s.link), s.share});
  return out;
}

const char* meaning(topology::PathType type) {
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
  static_assert(std::size(kNames) == static_cast<std::size_t>(topology::PathType::kDis) + 1);
  return kNames[static_cast<std::size_t>(type)];
}

PathResult result_of(const spec::Cluster& c, const routing::PathView& v, topology::DeviceId a, topology::DeviceId b) {
  const topology::Topology& t = c.topology;
  PathResult r;
  r.cluster = c.name;
  r.from = t.name(a);
  r.to = t.name(b);
  r.type = topology::name_of(v.type);
  r.nccl_type = topology::name_of(v.nccl_type);
  r.meaning = meaning(v.type);
  r.nccl_meaning = meaning(v.nccl_type);
  for (const routing::PathHop& hop : v.hops) r.hops.push_back(hop_of(t, hop));
  if (!v.hops.empty()) {
    r.GBps = v.payload_GBps;
    r.wire_GBps = v.wire_GBps;
  }
  r.latency_ns = v.latency.in_ns();
  r.latency_parts_ns = in_ns(v.latency_parts);
  for (const topology::DeviceId d : v.copied_in) r.copied_in.push_back(t.name(d));
  if (v.bottleneck != kNone<topology::LinkId>) {
    const NamedLink link{t.name(v.bottleneck), part_of(t, v.bottleneck)};
    r.bottleneck = link;
    r.bound_by = BoundBy{link.link, link.part, {}, "bandwidth"};
    r.brand = brand_of(t.link_class(v.bottleneck));
  }
  r.shared_with = v.shared_with;
  r.shared_count = v.shared_count;
  return r;
}

}  // namespace

Result<PathResult> answer(const PathRequest& q, const Context&) {
  BUSBAR_ASSIGN(const spec::Cluster cluster, step::load_machine(q.cluster, q.machine));
  BUSBAR_ASSIGN(const topology::DeviceId a, find_device(cluster.topology, q.a, "a"));
  BUSBAR_ASSIGN(const topology::DeviceId b, find_device(cluster.topology, q.b, "b"));
  const routing::Router router(cluster.topology, cluster.routing, cluster.seed);
  BUSBAR_ASSIGN(const routing::PathView view, routing::view_path(router, a, b, {cluster.gpudirect, cluster.p2p}));
  PathResult r = result_of(cluster, view, a, b);
  r.inputs_hash = inputs_hash("path", q, cluster.text);
  return r;
}

Question path_question() {
  return make_question<PathRequest, PathResult>(
      "path", "the path between two devices: type, hops, bottleneck, latency, what else uses it",
      "  busbar path dgx-h100 gpu0 gpu7\n"
      "  busbar path dgx-h100:64 0 511\n"
      "  busbar path dgx-a100 node0.gpu0 node0.nic0 --json\n",
      60);
}

}  // namespace busbar::questions
