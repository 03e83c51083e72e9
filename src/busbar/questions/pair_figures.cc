#include "busbar/questions/pair_figures.h"

#include <fmt/core.h>

#include "busbar/questions/topo_facts.h"
#include "busbar/routing/pair_copy.h"
#include "busbar/routing/path_view.h"
#include "busbar/topology/direct_reach.h"

namespace busbar::questions {

namespace {

/// The hardware's own paths: no GPU passes data on.
topology::DirectReach reach_of(const spec::Cluster& c) { return {c.gpudirect, c.p2p, false}; }

std::vector<topology::DeviceId> devices_of(const topology::Topology& t, topology::BlockId block,
                                           topology::DeviceKind kind) {
  const topology::Block& b = t.blocks()[index(block)];
  std::vector<topology::DeviceId> out;
  for (std::uint32_t p = 0; p < b.device_count; ++p)
    if (const auto d = static_cast<topology::DeviceId>(b.first_device + p); t.kind(d) == kind) out.push_back(d);
  return out;
}

/// Into the host memory nearest to `from`, and out of it.
Result<routing::PathView> view_staged(const routing::Router& router, topology::DeviceId from, topology::DeviceId to) {
  const topology::DeviceId memory = routing::nearest_memory(router, from);
  BUSBAR_ASSIGN(routing::PathView whole, routing::view_route(router, from, memory));
  BUSBAR_ASSIGN(const routing::PathView out, routing::view_route(router, memory, to));
  whole.hops.insert(whole.hops.end(), out.hops.begin(), out.hops.end());
  whole.copied_in = {memory};
  whole.latency = whole.latency + out.latency;
  return whole;
}

/// Sets the figures with P2P off, if all GPUs reach the same host memories.
void add_staged(const routing::Router& router, const program::ProtocolModel& protocol,
                const std::vector<topology::DeviceId>& gpus, PairFigures& out) {
  for (const topology::DeviceId d : gpus)
    if (routing::nearest_memory(router, d) == kNone<topology::DeviceId>) return;
  const std::size_t n = gpus.size();
  std::vector<std::vector<double>> one(n, std::vector<double>(n, 0.0)), both = one, latency = one;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k) {
      if (i == k) continue;
      const Result<routing::PathView> there = view_staged(router, gpus[i], gpus[k]);
      const Result<routing::PathView> back = view_staged(router, gpus[k], gpus[i]);
      if (!there.ok() || !back.ok()) return;
      const routing::PairCopy copy = routing::pair_copy(router.topology(), *there, *back);
      one[i][k] = copy.one_way_GBps;
      latency[i][k] = (there->latency + protocol.staged_copy).in_ns() / 1000;
      both[i][k] = copy.both_ways_GBps;
    }
  out.staged_GBps = std::move(one);
  out.staged_both_GBps = std::move(both);
  if (protocol.staged_copy != Duration()) out.staged_latency_us = std::move(latency);
}

}  // namespace

Result<PairFigures> pair_figures(const spec::Cluster& c, topology::BlockId block) {
  const topology::Topology& t = c.topology;
  const std::vector<topology::DeviceId> gpus = devices_of(t, block, topology::DeviceKind::kGpu);
  const std::size_t n = gpus.size();
  if (n > kMostInPairs)
    return invalid(
        fmt::format("a node of {} GPUs has {} pairs, and at most {} GPUs are shown; 'busbar path {} {} {}' "
                    "shows one pair",
                    n, n * (n - 1), kMostInPairs, c.name, t.name(gpus[0]), t.name(gpus[n - 1])));
  PairFigures out;
  for (const topology::DeviceId d : gpus) out.names.push_back(name_in_node(t, d));
  for (auto* m : {&out.payload_GBps, &out.both_GBps, &out.latency_us}) m->assign(n, std::vector<double>(n, 0.0));
  const routing::Router router(t, c.routing, c.seed);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = i + 1; k < n; ++k) {
      BUSBAR_ASSIGN(const routing::PathView there, routing::view_route(router, gpus[i], gpus[k], reach_of(c)));
      BUSBAR_ASSIGN(const routing::PathView back, routing::view_route(router, gpus[k], gpus[i], reach_of(c)));
      const routing::PairCopy copy = routing::pair_copy(t, there, back);
      out.payload_GBps[i][k] = copy.one_way_GBps;
      out.payload_GBps[k][i] = routing::pair_copy(t, back, there).one_way_GBps;
      out.both_GBps[i][k] = out.both_GBps[k][i] = copy.both_ways_GBps;
      out.latency_us[i][k] = there.latency.in_ns() / 1000;
      out.latency_us[k][i] = back.latency.in_ns() / 1000;
    }
  add_staged(router, c.protocol, gpus, out);
  return out;
}

Result<HopCounts> hop_counts(const spec::Cluster& c, topology::BlockId block) {
  const topology::Topology& t = c.topology;
  std::vector<topology::DeviceId> devices = devices_of(t, block, topology::DeviceKind::kGpu);
  for (const topology::DeviceId nic : devices_of(t, block, topology::DeviceKind::kNic)) devices.push_back(nic);
  if (devices.size() > kMostInPairs)
    return invalid(
        fmt::format("a node of {} GPUs and NICs is too large for a table of hops: at most {}; 'busbar path' "
                    "shows one pair",
                    devices.size(), kMostInPairs));
  HopCounts out;
  const routing::Router router(t, c.routing, c.seed);
  for (const topology::DeviceId from : devices) {
    out.names.push_back(name_in_node(t, from));
    auto& row = out.hops.emplace_back();
    for (const topology::DeviceId to : devices) {
      const Result<routing::PathView> view = routing::view_route(router, from, to, reach_of(c));
      if (!view.ok() && view.error().code != ErrorCode::kUnreachable) return view.error();
      row.push_back(view.ok() ? std::optional(view->hops.size()) : std::nullopt);
    }
  }
  return out;
}

const Record& record_of(const PairFigures*) {
  static const Record record(
      "pairs",
      {{"names", &PairFigures::names, "", "GPUs of the node"},
       {"payload_GBps", &PairFigures::payload_GBps, "GB/s", "by sender and receiver, one direction"},
       {"payload_both_directions_GBps", &PairFigures::both_GBps, "GB/s", "both directions at the same time, their sum"},
       {"p2p_off_GBps", &PairFigures::staged_GBps, "GB/s", "with P2P off, through host memory"},
       {"p2p_off_both_directions_GBps", &PairFigures::staged_both_GBps, "GB/s", "the same, both directions"},
       {"latency_us", &PairFigures::latency_us, "us", "first bit in to first bit out, without software"},
       {"p2p_off_latency_us", &PairFigures::staged_latency_us, "us", "of a copy with P2P off, with software"}});
  return record;
}

const Record& record_of(const HopCounts*) {
  static const Record record("hops", {{"names", &HopCounts::names, "", "GPUs and NICs of the node"},
                                      {"hops", &HopCounts::hops, "", "links crossed; null: no path"}});
  return record;
}

}  // namespace busbar::questions
