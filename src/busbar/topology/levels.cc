#include "busbar/topology/levels.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "busbar/topology/tiers.h"

namespace busbar::topology {
namespace {

constexpr std::size_t kKinds = static_cast<std::size_t>(DeviceKind::kSwitch) + 1;

/// Sums over live cables, counted once each.
struct Sum {
  double wire = 0, payload = 0;  ///< bytes/s, one direction
  std::uint32_t cables = 0;
  Duration latency;  ///< the longest
  void add(const LinkClass& c) {
    wire += static_cast<double>(per_second(c.floor_rate()));
    payload += static_cast<double>(per_second(c.payload_rate()));
    latency = std::max(latency, c.latency);
    ++cables;
  }
};

Level level(std::string name, const Sum& sum, double gpus, Duration latency, std::string note) {
  return {std::move(name), sum.wire / kGiga / gpus, sum.payload / kGiga / gpus, latency, std::move(note)};
}

/// [i]: the cables between tier i (0: NICs) and the tier above, or among the switches of tier i.
std::vector<Sum> fabric_sums(const Topology& t) {
  std::vector<Sum> out(1);
  const std::vector<std::uint8_t> tiers = switch_tiers(t);
  std::uint32_t first = 0;
  if (!t.blocks().empty()) first = t.blocks().back().first_link + t.blocks().back().link_count;
  for (std::uint32_t l = first; l < t.link_count(); l += 2) {
    const auto link = static_cast<LinkId>(l);
    const std::size_t low = std::min(tiers[index(t.from(link))], tiers[index(t.to(link))]);
    if (t.failed(link)) continue;
    if (low >= out.size()) out.resize(low + 1);
    out[low].add(t.link_class(link));
  }
  return out;
}

void add_gpu_levels(const Topology& t, DeviceId gpu, std::vector<Level>& out) {
  Sum scale_up, host, pcie;
  bool direct = true;
  for (const LinkId l : t.out_links(gpu)) {
    const LinkClass& c = t.link_class(l);
    if (is_scale_up(c.kind) && t.kind(t.to(l)) == DeviceKind::kCpu) {
      host.add(c);
    } else if (is_scale_up(c.kind)) {
      scale_up.add(c);
      direct = direct && t.kind(t.to(l)) == DeviceKind::kGpu;
    } else if (is_in_server(c.kind)) {
      pcie.add(c);
    }
  }
  const double memory = static_cast<double>(per_second(t.device_class(gpu).memory_rate)) / kGiga;
  const std::string& kind = t.device_class(gpu).memory_kind;
  const char* const name = kind.empty() || kind == "HBM" ? "hbm" : "memory";
  if (memory > 0) out.push_back({name, memory, memory, Duration(), "memory of the GPU, data sheet"});
  if (scale_up.cables > 0) {
    out.push_back(
        level("scale-up", scale_up, 1, scale_up.latency * (direct ? 1 : 2),
              direct ? "all links of a GPU, straight to its peers" : "all links of a GPU, through the switches"));
  }
  if (host.cables > 0) out.push_back(level("c2c", host, 1, host.latency, "links of the GPU to its CPU"));
  if (pcie.cables > 0) out.push_back(level("pcie", pcie, 1, pcie.latency, "slot of the GPU"));
}

/// The levels without ratios.
std::vector<Level> bare_levels(const Topology& t) {
  std::vector<Level> out;
  add_gpu_levels(t, t.gpus()[0], out);
  const auto sums = fabric_sums(t);
  const auto gpus = static_cast<double>(t.gpus().size());
  if (sums[0].cables > 0) {
    out.push_back(
        level("nic", sums[0], gpus, sums[0].latency * 2,
              fmt::format("{} NIC cables shared by {} GPUs; latency NIC to NIC", sums[0].cables, t.gpus().size())));
  }
  Duration below = sums[0].latency * 2;
  std::uint8_t top = 0;
  for (std::uint8_t i = 1; i < sums.size(); ++i) {
    if (sums[i].cables == 0) continue;
    below += sums[i].latency * 2;
    top = i;
    const std::string name = tier_name(i);
    out.push_back(level(name, sums[i], gpus, below,
                        fmt::format("{} cables {} upwards, share of a GPU; latency NIC to NIC", sums[i].cables, name)));
  }
  if (top > 0) {  // the top tier carries the traffic from the tier below
    Level last = out.back();
    last.name = tier_name(top + 1);
    last.from_above = true;
    last.note = fmt::format("the same cables, seen from above ({})", last.name);
    out.push_back(std::move(last));
  }
  return out;
}

}  // namespace

std::vector<Level> machine_levels(const Topology& t) {
  if (t.gpus().empty()) return {};
  std::vector<Level> out = bare_levels(t);
  for (std::size_t i = 1; i < out.size(); ++i)
    if (out[i].wire_GBps > 0) out[i].ratio = out[i - 1].wire_GBps / out[i].wire_GBps;
  return out;
}

NicRates nic_rates(const Topology& t) {
  NicRates out;
  for (const DeviceId s : t.fabric_switches())
    for (const LinkId down : t.out_links(s)) {
      const DeviceId nic = t.to(down);
      if (t.kind(nic) != DeviceKind::kNic) continue;
      for (const LinkId l : t.out_links(nic)) {
        const LinkClass& c = t.link_class(l);
        (is_fabric(c.kind) ? out.cable_GBps : out.slot_GBps) +=
            static_cast<double>(per_second(c.payload_rate())) / kGiga;
      }
      return out;
    }
  return out;
}

ScaleUpDomain scale_up_domain(const Topology& t) {
  ScaleUpDomain out;
  if (t.gpus().empty()) return out;
  std::vector<bool> seen(t.device_count());
  std::vector<DeviceId> open{t.gpus()[0]};
  seen[index(open[0])] = true;
  std::uint64_t memory = 0;
  while (!open.empty()) {
    const DeviceId d = open.back();
    open.pop_back();
    if (t.kind(d) == DeviceKind::kGpu) {
      ++out.gpus;
      memory += count(t.device_class(d).memory);
    }
    for (const LinkId l : t.out_links(d)) {
      const DeviceId to = t.to(l);
      if (!is_scale_up(t.link_class(l).kind) || t.kind(to) == DeviceKind::kCpu) continue;
      if (t.kind(d) == DeviceKind::kGpu)
        out.ports_GBps += static_cast<double>(per_second(t.link_class(l).floor_rate())) / kGiga;
      if (seen[index(to)]) continue;
      seen[index(to)] = true;
      open.push_back(to);
    }
  }
  out.memory = Bytes{memory};
  return out;
}

std::vector<std::pair<DeviceKind, std::uint32_t>> device_counts(const Topology& t) {
  std::array<std::uint32_t, kKinds> counts{};
  for (std::uint32_t i = 0; i < t.device_count(); ++i) {
    const auto d = static_cast<DeviceId>(i);
    if (!t.device_class(d).lower_level) ++counts[static_cast<std::size_t>(t.kind(d))];
  }
  std::vector<std::pair<DeviceKind, std::uint32_t>> out;
  for (std::size_t k = 0; k < kKinds; ++k) {
    if (counts[k] > 0) out.emplace_back(static_cast<DeviceKind>(k), counts[k]);
  }
  return out;
}

Bytes total_memory(const Topology& t) {
  std::uint64_t sum = 0;
  for (const DeviceId d : t.gpus()) sum += count(t.device_class(d).memory);
  return Bytes{sum};
}

}  // namespace busbar::topology
