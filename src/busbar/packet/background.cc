#include "busbar/packet/background.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "busbar/base/random.h"

namespace busbar::packet {
namespace {

constexpr double kMostRandomFlows = 4e6;  // some gigabytes

struct Host {
  topology::DeviceId gpu, nic;
  double bytes_per_s = 0;  ///< its share of all cables of its NIC
};

std::vector<Host> hosts_of(const routing::Router& router) {
  const topology::Topology& t = router.topology();
  std::vector<Host> hosts;
  std::map<topology::DeviceId, std::uint32_t> gpus_of;
  for (const topology::DeviceId gpu : t.gpus()) {
    Host h{gpu, router.nearest_nic(gpu, 0), 0};
    if (h.nic == kNone<topology::DeviceId>) continue;
    for (const topology::LinkId l : t.out_links(h.nic))
      if (topology::is_fabric(t.link_class(l).kind))
        h.bytes_per_s += static_cast<double>(per_second(t.link_class(l).floor_rate()));
    hosts.push_back(h);
    ++gpus_of[h.nic];
  }
  for (Host& h : hosts) h.bytes_per_s /= gpus_of[h.nic];
  return hosts;
}

}  // namespace

double SizeDistribution::mean_bytes() const {
  double mean = 0;
  for (std::size_t i = 1; i < points.size(); ++i)
    mean += (points[i].share - points[i - 1].share) * (points[i].bytes + points[i - 1].bytes) / 2;
  return mean;
}

Bytes SizeDistribution::at(double share) const {
  std::size_t i = 1;
  while (i + 1 < points.size() && points[i].share < share) ++i;
  const Point &a = points[i - 1], &b = points[i];
  const double part = b.share > a.share ? (share - a.share) / (b.share - a.share) : 1;
  return static_cast<Bytes>(std::max(1.0, std::ceil(a.bytes + part * (b.bytes - a.bytes))));
}

Status add_background(const BackgroundTraffic& traffic, const routing::Router& router, program::FlowList& list) {
  const std::vector<Host> hosts = hosts_of(router);
  if (hosts.size() < 2)
    return Error{ErrorCode::kUnsupported, "random flows need two GPUs with NICs", {"", 0, 0, traffic.flag}};
  const double mean = traffic.sizes.mean_bytes();
  double expected = 0;
  for (const Host& h : hosts) expected += traffic.load * h.bytes_per_s / mean * traffic.until.since_start().in_s();
  if (expected > kMostRandomFlows)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("about {:.2g} random flows, more than {:.2g}; end it earlier, or lower the load", expected,
                             kMostRandomFlows),
                 {"", 0, 0, traffic.flag}};
  std::vector<program::ListedFlow> flows;
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    RandomStream random(traffic.seed, "background of host " + std::to_string(h));
    const double flows_per_ps = traffic.load * hosts[h].bytes_per_s / mean * 1e-12;
    const auto until = static_cast<double>(traffic.until.since_start().in_ps());
    for (double at = 0;;) {
      at -= std::log(1 - random.uniform()) / flows_per_ps;
      if (!(at <= until)) break;
      std::size_t other = random.below(static_cast<std::uint32_t>(hosts.size() - 1));
      other += other >= h ? 1 : 0;
      const Bytes bytes = traffic.sizes.at(random.uniform());
      flows.push_back({hosts[h].gpu, hosts[other].gpu, hosts[h].nic, hosts[other].nic, bytes,
                       SimTime::at(Duration::ps(std::llround(at))), program::FlowTrigger::kReceived});
    }
  }
  std::stable_sort(flows.begin(), flows.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  for (const program::ListedFlow& f : flows) {
    list.flows.push_back(f);
    list.after.close_row();
  }
  return {};
}

}  // namespace busbar::packet
