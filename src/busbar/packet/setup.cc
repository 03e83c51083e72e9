#include "busbar/packet/internal/setup.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>

#include "busbar/packet/internal/knobs.h"
#include "busbar/routing/path_view.h"

namespace busbar::packet {
namespace {

/// The faults on wires that some route can cross.
void add_faults(const Wiring& wiring, const PacketOptions& options, const Scale& scale, Profile& p) {
  for (const PacketFault& f : options.faults) {
    const std::uint32_t w = wiring.find(f.link);
    if (w == kNone32) continue;
    const auto until = f.until == SimTime::max() ? INT64_MAX : f.until.since_start().in_ps();
    p.network.faults.push_back({w, f.kind, f.value, f.from.since_start().in_ps(), until});
  }
  p.hosts.faults = static_cast<std::uint32_t>(p.network.faults.size());
  p.network.reroute_after = options.reroute_after == Duration::max() ? INT64_MAX : options.reroute_after.in_ps();
  // Two round trips of data: an assumption, since vendors do not publish the receive buffers of their NICs.
  p.network.receiver_bytes = static_cast<std::uint32_t>(2 * scale.bdp) + 2 * p.hosts.payload;
}

}  // namespace

Scale scale_of(const Wiring& wiring, std::span<const std::uint32_t> routes, std::uint64_t full, std::uint64_t header) {
  Scale s;
  std::vector<bool> seen;
  for (const std::uint32_t r : routes) {
    if (r < seen.size() && seen[r]) continue;
    seen.resize(std::max<std::size_t>(seen.size(), r + 1));
    seen[r] = true;
    if (wiring.route(r).hops == 0) continue;  // work
    const Ps rtt = wiring.idle_time(r, full) + wiring.idle_time(r, header);
    const Wire& w = wiring.wires()[wiring.route(r).slowest];
    s.rtt = std::max(s.rtt, rtt);
    s.line_rate = std::max(s.line_rate, static_cast<double>(w.bytes) / static_cast<double>(w.ps_bytes));
    s.bdp = std::max(s.bdp, static_cast<double>(rtt) * static_cast<double>(w.bytes) / static_cast<double>(w.ps_bytes));
  }
  for (const Wire& w : wiring.wires()) s.longest_cable = std::max(s.longest_cable, w.latency);
  return s;
}

int bucket_bits(const Wiring& wiring) {
  const auto busy = static_cast<std::uint64_t>(wiring.wires().size() / 2 + 1);
  const std::uint64_t ps_per_event = 83'200 / busy + 1;
  const int more = wiring.wires().size() < kManyWires ? 2 : 1;
  return std::clamp(static_cast<int>(std::bit_width(ps_per_event)) + more, 7, 13);
}

double expected_hops(const Wiring& wiring, const program::FlowList& list, std::span<const std::uint32_t> routes,
                     std::uint32_t payload) {
  constexpr double kWithAcknowledgements = 1.25;
  double hops = 0;
  for (std::size_t f = 0; f < routes.size(); ++f) {
    const std::uint64_t packets = count(list.flows[f].bytes) / payload + 1;
    hops += kWithAcknowledgements * static_cast<double>(packets) * wiring.route(routes[f]).hops;
  }
  return hops;
}

Status check_patience(double hops, double patience_s) {
  constexpr double kHopsPerSecond = 2.5e6;
  const double seconds = hops / kHopsPerSecond;
  if (seconds <= patience_s) return {};
  return Error{
      ErrorCode::kUnsupported,
      fmt::format("{:.3g} packet-hops would take about {:.2g} hours; make the flows smaller or fewer, use --engine "
                  "flow, which takes seconds, or give --patience {:.0f}",
                  hops, seconds / 3600, seconds * 2),
      {}};
}

Status check_copies(const routing::Router& router, const program::FlowList& list) {
  if (list.reach.gpudirect && list.reach.p2p) return {};
  std::set<std::array<topology::DeviceId, 4>> seen;
  std::vector<routing::LinkShare> path;
  for (const program::ListedFlow& f : list.flows) {
    if (f.is_work() || !seen.insert({f.from, f.to, f.nic_from, f.nic_to}).second) continue;
    path.clear();
    std::vector<topology::DeviceId> copied_in;
    BUSBAR_RETURN_IF_ERROR(
        routing::spread_reaching(router, list.reach, f.from, f.to, f.nic_from, f.nic_to, 0, path, &copied_in));
    if (copied_in.empty()) continue;
    const topology::Topology& t = router.topology();
    const bool inside = t.block_of(f.from) == t.block_of(f.to);
    return Error{ErrorCode::kUnsupported,
                 fmt::format("data from {} to {} are copied in {} ({}), which packets do not model; use --engine flow, "
                             "or {}",
                             t.name(f.from), t.name(f.to), t.name(copied_in.front()),
                             inside ? "p2p is off" : "gpudirect of the node or of the fabric is off",
                             inside ? "--set node.p2p=true" : "--set node.gpudirect=true --set fabric.gpudirect=true"),
                 {}};
  }
  return {};
}

Result<Profile> profile_for(const Wiring& wiring, const PacketOptions& options, const Scale& scale) {
  Profile profile = make_profile(options, scale);
  add_faults(wiring, options, scale, profile);
  for (const WireFault& f : profile.network.faults) {
    if (f.kind == PacketFault::Kind::kStorm && profile.network.lossless == Lossless::kNo)
      return Error{ErrorCode::kUnsupported,
                   "a storm needs a transport that obeys pauses or credits; use --transport dcqcn, hpcc, roce or ib",
                   {"", 0, 0, "--fault"}};
  }
  for (std::uint32_t o = 0; o < wiring.outlets().rows(); ++o)  // parallel NVLinks reorder too
    if (wiring.width(o) > 1) profile.hosts.recovery = Recovery::kTrimming;
  BUSBAR_RETURN_IF_ERROR(apply_settings(options, profile));
  return profile;
}

}  // namespace busbar::packet
