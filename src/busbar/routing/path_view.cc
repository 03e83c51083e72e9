#include "busbar/routing/path_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "busbar/routing/internal/route_kind.h"

namespace busbar::routing {
namespace {

constexpr std::uint32_t kMostListed = 256;
constexpr std::size_t kMostGpus = 128;  ///< of a block whose pairs are all tried
constexpr std::uint32_t kChannels = 8;  ///< tried for the NICs that a GPU may use
constexpr std::uint64_t kFlow = 0;      ///< of the connection shown

void add_hops(const topology::Topology& t, topology::DeviceId from, const std::vector<LinkShare>& route,
              PathView& view) {
  std::map<topology::DeviceId, std::size_t> depth{{from, 0}};
  for (const LinkShare& l : route) {
    const std::size_t at = depth[t.from(l.link)];
    depth[t.to(l.link)] = at + 1;
    if (view.hops.size() <= at) view.hops.resize(at + 1);
    view.hops[at].links.push_back(l);
  }
  double narrowest = 0;
  for (PathHop& hop : view.hops) {
    for (const LinkShare& l : hop.links) {
      const double rate = t.payload_rate(l.link) / l.share / kGiga;
      const double wire = static_cast<double>(per_second(t.link_class(l.link).floor_rate())) / l.share / kGiga;
      if (hop.payload_GBps == 0 || rate < hop.payload_GBps) hop.payload_GBps = rate;
      if (hop.wire_GBps == 0 || wire < hop.wire_GBps) hop.wire_GBps = wire;
      if (narrowest == 0 || rate < narrowest * (1 - 1e-9)) {
        narrowest = rate;
        view.bottleneck = l.link;
      }
      hop.latency = std::max(hop.latency, t.link_class(l.link).latency);
    }
    view.latency += hop.latency;
    if (view.wire_GBps == 0 || hop.wire_GBps < view.wire_GBps) view.wire_GBps = hop.wire_GBps;
  }
  view.payload_GBps = narrowest;
}

const char* part_of(topology::LinkKind k) {
  if (topology::is_scale_up(k)) return "scale-up";
  if (topology::is_fabric(k)) return "network";
  return k == topology::LinkKind::kPcie ? "PCIe" : "sockets";
}

/// Adds the parts of a link's latency to `sums`, outwards.
void add_parts(const topology::LinkClass& c, std::map<std::string_view, Duration>& sums) {
  const topology::LatencyParts& p = c.latency_parts;
  if (p == topology::LatencyParts()) {
    sums[part_of(c.kind)] += c.latency;
    return;
  }
  sums["NIC"] += p.nic;
  sums["switch"] += p.switching;
  sums["frame"] += p.frame;
  sums["FEC"] += p.fec;
  sums["cable"] += p.cable;
}

std::vector<std::pair<std::string, Duration>> in_order(const std::map<std::string_view, Duration>& sums) {
  std::vector<std::pair<std::string, Duration>> out;
  for (const char* part : {"scale-up", "PCIe", "sockets", "NIC", "switch", "frame", "FEC", "cable", "network"}) {
    const auto it = sums.find(part);
    if (it == sums.end() || (it->second == Duration() && it->first != "FEC")) continue;
    out.emplace_back(part, it->second);
  }
  return out;
}

void add_latency_parts(const topology::Topology& t, PathView& view) {
  std::map<std::string_view, Duration> all;
  for (PathHop& hop : view.hops) {
    const auto slowest = std::max_element(hop.links.begin(), hop.links.end(), [&](const auto& a, const auto& b) {
      return t.link_class(a.link).latency < t.link_class(b.link).latency;
    });
    std::map<std::string_view, Duration> own;
    add_parts(t.link_class(slowest->link), own);
    add_parts(t.link_class(slowest->link), all);
    hop.latency_parts = in_order(own);
  }
  view.latency_parts = in_order(all);
}

class Sharers {
 public:
  Sharers(const Router& router, topology::DeviceId from, topology::DeviceId to, PathView& view)
      : router_(router), t_(router.topology()), from_(from), to_(to), view_(view) {}

  void find() {
    const topology::LinkId l = view_.bottleneck;
    const topology::BlockId a = t_.block_of(t_.from(l)), b = t_.block_of(t_.to(l));
    if (a != kNone<topology::BlockId> && a == b) return inside(a, l);
    if (a != kNone<topology::BlockId>) return on_nic(a, t_.from(l), true);
    if (b != kNone<topology::BlockId>) return on_nic(b, t_.to(l), false);
    between_switches(l);
  }

 private:
  void list(std::string who) {
    if (view_.shared_count++ < kMostListed) view_.shared_with.push_back(std::move(who));
  }
  std::vector<topology::DeviceId> gpus_of(topology::BlockId id) const {
    const topology::Block& block = t_.blocks()[index(id)];
    std::vector<topology::DeviceId> out;
    for (std::uint32_t p = 0; p < block.device_count; ++p)
      if (const auto d = static_cast<topology::DeviceId>(block.first_device + p);
          t_.kind(d) == topology::DeviceKind::kGpu)
        out.push_back(d);
    return out;
  }
  std::vector<topology::DeviceId> nics_of(topology::DeviceId gpu) const {
    std::vector<topology::DeviceId> out;
    for (std::uint32_t c = 0; c < kChannels; ++c) {
      const topology::DeviceId n = router_.nearest_nic(gpu, c);
      if (n != kNone<topology::DeviceId> && std::find(out.begin(), out.end(), n) == out.end()) out.push_back(n);
    }
    return out;
  }
  void try_pair(topology::DeviceId x, topology::DeviceId y, topology::LinkId l) {
    if (x == y || (x == from_ && y == to_)) return;
    route_.clear();
    if (!router_.spread(x, y, kNone<topology::DeviceId>, kNone<topology::DeviceId>, kFlow, route_).ok()) return;
    const bool crosses = std::any_of(route_.begin(), route_.end(), [&](const LinkShare& s) { return s.link == l; });
    if (crosses) list(t_.name(x) + " -> " + t_.name(y));
  }
  void inside(topology::BlockId block, topology::LinkId l) {
    const std::vector<topology::DeviceId> gpus = gpus_of(block);
    for (const topology::DeviceId x : gpus)
      for (const topology::DeviceId y : gpus)
        if (gpus.size() <= kMostGpus || x == from_ || y == to_) try_pair(x, y, l);
    for (const topology::DeviceId x : gpus)
      for (const topology::DeviceId n : nics_of(x)) {
        try_pair(x, n, l);
        try_pair(n, x, l);
      }
  }
  void on_nic(topology::BlockId block, topology::DeviceId nic, bool leaves) {
    for (const topology::DeviceId g : gpus_of(block)) {
      const auto nics = nics_of(g);
      if (g == from_ || g == to_ || std::find(nics.begin(), nics.end(), nic) == nics.end()) continue;
      list(leaves ? t_.name(g) + " -> other nodes" : "other nodes -> " + t_.name(g));
    }
  }
  /// Below the lower of the two switches: the one with neighbours in blocks, otherwise the one built first.
  void between_switches(topology::LinkId l) {
    const auto joins_blocks = [&](topology::DeviceId s) {
      const auto links = t_.out_links(s);
      return std::any_of(links.begin(), links.end(),
                         [&](topology::LinkId x) { return t_.block_of(t_.to(x)) != kNone<topology::BlockId>; });
    };
    const topology::DeviceId a = t_.from(l), b = t_.to(l);
    const topology::DeviceId lower = joins_blocks(a) ? a : joins_blocks(b) ? b : std::min(a, b);
    for (const topology::LinkId x : t_.out_links(lower)) {
      const topology::DeviceId d = t_.to(x);
      if (joins_blocks(lower) ? t_.block_of(d) == kNone<topology::BlockId> : d == a || d == b) continue;
      list(t_.name(d) + " (as its hash falls)");
    }
  }

  const Router& router_;
  const topology::Topology& t_;
  topology::DeviceId from_, to_;
  PathView& view_;
  std::vector<LinkShare> route_;
};

/// The host memories in which `route` must be copied, from the sender's side; none for a direct route.
std::vector<topology::DeviceId> copies_of(const Router& router, topology::DeviceId from, topology::DeviceId to,
                                          std::span<const LinkShare> route, const topology::DirectReach& reach) {
  const topology::Topology& t = router.topology();
  const bool a = t.kind(from) == topology::DeviceKind::kGpu, b = t.kind(to) == topology::DeviceKind::kGpu;
  std::vector<topology::DeviceId> out;
  const auto copy_near = [&](topology::DeviceId gpu) {
    if (const topology::DeviceId memory = nearest_memory(router, gpu); memory != kNone<topology::DeviceId>)
      out.push_back(memory);
  };
  if (t.block_of(from) != t.block_of(to)) {
    if (!reach.gpudirect && a) copy_near(from);
    if (!reach.gpudirect && b) copy_near(to);
    return out;
  }
  const auto is_port = [&](topology::DeviceId d) {
    return t.kind(d) == topology::DeviceKind::kNic || t.kind(d) == topology::DeviceKind::kNvme;
  };
  const bool by_server = route_kind(t, route) == RouteKind::kServer;
  if (a && b && by_server && !reach.p2p) copy_near(from);
  const bool relayed = route_kind(t, route) == RouteKind::kRelayed &&
                       t.link_class(route.front().link).kind == topology::LinkKind::kNvlink;
  if (relayed && !reach.relays) copy_near(from);
  if (!reach.gpudirect && ((a && is_port(to)) || (b && is_port(from)))) copy_near(a ? from : to);
  return out;
}

}  // namespace

Status spread_reaching(const Router& router, const topology::DirectReach& reach, topology::DeviceId from,
                       topology::DeviceId to, topology::DeviceId nic_from, topology::DeviceId nic_to,
                       std::uint64_t flow, std::vector<LinkShare>& out, std::vector<topology::DeviceId>* copied_in,
                       const SplitBias& bias) {
  const topology::Topology& t = router.topology();
  const std::size_t begin = out.size();
  BUSBAR_RETURN_IF_ERROR(router.spread(from, to, nic_from, nic_to, flow, out, bias));
  if (reach.gpudirect && reach.p2p && reach.relays) return {};
  std::vector<topology::DeviceId> stops = copies_of(router, from, to, std::span(out).subspan(begin), reach);
  if (copied_in) *copied_in = stops;
  if (stops.empty()) return {};
  out.resize(begin);
  // Out of host memory by the GPU's own NIC: no GPU relays over NVLink.
  const bool passes_on = nic_from != kNone<topology::DeviceId> && t.kind(from) == topology::DeviceKind::kGpu;
  const topology::DeviceId own = passes_on ? router.nearest_nic(from, 0) : nic_from;
  stops.push_back(to);
  for (topology::DeviceId at = from; const topology::DeviceId stop : stops) {
    BUSBAR_RETURN_IF_ERROR(router.spread(at, stop, own, nic_to, flow, out, bias));
    at = stop;
  }
  for (std::size_t i = begin; i < out.size(); ++i)  // a way to a device and back may cross a link twice
    for (std::size_t k = out.size() - 1; k > i; --k) {
      if (out[k].link != out[i].link) continue;
      out[i].share += out[k].share;
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(k));
    }
  return {};
}

Result<PathView> view_route(const Router& router, topology::DeviceId from, topology::DeviceId to,
                            const topology::DirectReach& reach) {
  const topology::Topology& t = router.topology();
  for (const topology::DeviceId d : {from, to})
    if (t.block_of(d) == kNone<topology::BlockId>)
      return invalid(fmt::format("{} belongs to the fabric; paths lead between devices of servers", t.name(d)));
  PathView view;
  if (from == to) return view;
  const bool same = t.block_of(from) == t.block_of(to);
  const auto nic_of = [&](topology::DeviceId d) {
    if (same) return kNone<topology::DeviceId>;
    return t.kind(d) == topology::DeviceKind::kNic ? d : router.nearest_nic(d, 0);
  };
  std::vector<LinkShare> route;
  const bool gpu = !same && t.kind(from) != topology::DeviceKind::kNic;
  const topology::DeviceId nic_to = nic_of(to),
                           nic_from = gpu ? router.exit_nic(from, nic_of(from), nic_to) : nic_of(from);
  BUSBAR_RETURN_IF_ERROR(spread_reaching(router, reach, from, to, nic_from, nic_to, kFlow, route, &view.copied_in));
  add_hops(t, from, route, view);
  add_latency_parts(t, view);
  std::vector<topology::LinkId> walk;
  for (topology::DeviceId at = from; const PathHop& hop : view.hops) {  // one of the ways, from end to end
    for (const LinkShare& l : hop.links)
      if (t.from(l.link) == at) {
        walk.push_back(l.link);
        at = t.to(l.link);
        break;
      }
  }
  view.type = topology::classify(t, walk);
  view.nccl_type =
      same ? std::min(view.type, topology::BlockPaths(t, from, topology::GpuRelay::kYes).type(to)) : view.type;
  return view;
}

Result<PathView> view_path(const Router& router, topology::DeviceId from, topology::DeviceId to,
                           const topology::DirectReach& reach) {
  BUSBAR_ASSIGN(PathView view, view_route(router, from, to, reach));
  if (!view.hops.empty()) Sharers(router, from, to, view).find();
  return view;
}

double host_rate(const Router& router) {
  const topology::Topology& t = router.topology();
  double best = 0;
  for (std::uint32_t d = 0; d < t.device_count(); ++d) {
    const auto device = static_cast<topology::DeviceId>(d);
    if (t.kind(device) != topology::DeviceKind::kCpu) continue;
    if (t.block_of(device) != t.block_of(t.gpus().front())) break;  // those of the first block come first
    std::vector<LinkShare> links;
    if (!router.spread(t.gpus().front(), device, kNone<topology::DeviceId>, kNone<topology::DeviceId>, 0, links).ok())
      continue;
    double rate = links.empty() ? 0 : std::numeric_limits<double>::max();
    for (const LinkShare& l : links) rate = std::min(rate, t.payload_rate(l.link) / l.share);
    best = std::max(best, rate);
  }
  return best;
}

bool has_host_memory(const topology::Topology& t) {
  return std::all_of(t.blocks().begin(), t.blocks().end(), [&](const topology::Block& block) {
    bool found = false;
    for (std::uint32_t p = 0; p < block.device_count && !found; ++p)
      found = t.kind(static_cast<topology::DeviceId>(block.first_device + p)) == topology::DeviceKind::kNuma;
    return found;
  });
}

namespace {

/// Calls look(device, hops) for `from` and the devices of its block by their least number of links from it, until it
/// says false.
template <typename Look>
void by_hops(const topology::Topology& t, topology::DeviceId from, Look look) {
  const topology::Block& block = t.blocks()[index(t.block_of(from))];
  std::vector<std::uint8_t> seen(block.device_count, 0);
  std::vector<topology::DeviceId> ring{from}, next;
  seen[index(from) - block.first_device] = 1;
  if (!look(from, 0)) return;
  for (int hops = 1; !ring.empty(); ++hops, ring.swap(next), next.clear())
    for (const topology::DeviceId at : ring)
      for (const topology::LinkId l : t.out_links(at)) {
        const std::uint32_t place = index(t.to(l)) - block.first_device;
        if (place >= block.device_count || std::exchange(seen[place], 1) != 0) continue;
        if (!look(t.to(l), hops)) return;
        next.push_back(t.to(l));
      }
}

}  // namespace

topology::DeviceId nearest_memory(const Router& router, topology::DeviceId gpu) {
  const topology::Topology& t = router.topology();
  std::vector<std::pair<topology::DeviceId, double>> found;  // with the hops of the route, which may go a longer way
  double fewest = std::numeric_limits<double>::max();
  by_hops(t, gpu, [&](topology::DeviceId d, int least) {
    if (least > fewest + 0.5) return false;
    std::vector<LinkShare> links;
    if (t.kind(d) != topology::DeviceKind::kNuma ||
        !router.spread(gpu, d, kNone<topology::DeviceId>, kNone<topology::DeviceId>, 0, links).ok())
      return true;
    double hops = 0;
    for (const LinkShare& l : links) hops += l.share;
    found.emplace_back(d, hops);
    fewest = std::min(fewest, hops);
    return true;
  });
  topology::DeviceId best = kNone<topology::DeviceId>;
  const auto rank = [&](topology::DeviceId d) { return std::pair(t.numa(d) != t.numa(gpu), index(d)); };
  for (const auto& [d, hops] : found)
    if (hops < fewest + 0.5 && (best == kNone<topology::DeviceId> || rank(d) < rank(best))) best = d;
  return best;
}

}  // namespace busbar::routing
