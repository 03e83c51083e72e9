#include "busbar/cli/pair_figures.h"

#include <fmt/core.h>

#include "busbar/routing/path_view.h"

namespace busbar {

Result<PairFigures> pair_figures(const Cluster& c, BlockId block) {
  const Topology& t = c.topology;
  const Block& b = t.blocks()[index(block)];
  std::vector<DeviceId> gpus;
  PairFigures out;
  for (std::uint32_t p = 0; p < b.device_count; ++p) {
    const auto d = static_cast<DeviceId>(b.first_device + p);
    if (t.kind(d) != DeviceKind::kGpu) continue;
    const std::string name = t.name(d);
    gpus.push_back(d);
    out.names.push_back(name.substr(name.find('.') + 1));
  }
  const Router router(t, c.routing, c.seed);
  for (const DeviceId from : gpus) {
    std::vector<double>& rates = out.payload_GBps.emplace_back();
    std::vector<double>& latencies = out.latency_us.emplace_back();
    for (const DeviceId to : gpus) {
      BUSBAR_ASSIGN(const PathView view, view_route(router, from, to, {c.gpudirect, c.p2p, false}));
      rates.push_back(view.payload_GBps);
      latencies.push_back(view.latency.in_ns() / 1000);
    }
  }
  return out;
}

Json to_json(const PairFigures& f) {
  Json j{{"names", f.names}, {"payload_GBps", Json::array()}, {"latency_us", Json::array()}};
  for (const auto& row : f.payload_GBps) j["payload_GBps"].push_back(row);
  for (const auto& row : f.latency_us) j["latency_us"].push_back(row);
  return j;
}

std::string pair_text(const std::string& title, const PairFigures& f, const std::vector<std::vector<double>>& values) {
  std::string out = title + "\n" + fmt::format("{:>8}", "from\\to");
  for (const std::string& name : f.names) out += fmt::format(" {:>7}", name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    out += fmt::format("\n{:>8}", f.names[i]);
    for (std::size_t k = 0; k < values.size(); ++k)
      out += i == k ? fmt::format(" {:>7}", "-") : fmt::format(" {:>7.2f}", values[i][k]);
  }
  return out + "\n";
}

}  // namespace busbar
