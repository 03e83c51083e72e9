#include "busbar/questions/bench_host.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <ctime>

namespace busbar::questions {

BenchTraffic traffic_of(collectives::Collective op) {
  if (op == collectives::Collective::kGather) return BenchTraffic::kGather;
  if (op == collectives::Collective::kScatter) return BenchTraffic::kScatter;
  return runtime::reduces(op) ? BenchTraffic::kAdds : BenchTraffic::kCopies;
}

namespace {

/// Rates of one rank's link and of all together.
struct HostLinkRates {
  double link = 0, together = 0;
};

/// A link is as fast in one direction as in the other. In a scatter the busy one is the root's, through which the
/// cores of all others read.
HostLinkRates link_rates(const runtime::RunRatePoint& at, const BenchMachine& m) {
  const double others = m.ranks - 1;
  switch (m.traffic) {
    case BenchTraffic::kGather:
      return {at.one_copy_bytes_per_s, m.ranks * at.one_copy_bytes_per_s};
    case BenchTraffic::kScatter:
      return {others * at.kept_copy_bytes_per_s, m.ranks * at.kept_copy_bytes_per_s};
    case BenchTraffic::kCopies:
      return {std::max(at.one_copy_bytes_per_s, at.copy_bytes_per_s), m.ranks * at.copy_bytes_per_s};
    case BenchTraffic::kAdds:
      break;
  }
  const double each = 2 / (1 / at.copy_bytes_per_s + 1 / at.add_bytes_per_s);
  return {std::max({at.one_copy_bytes_per_s, each, at.copy_bytes_per_s}), m.ranks * each};
}

}  // namespace

std::string host_cluster_yaml(const runtime::RunRates& rates, const BenchMachine& m) {
  const runtime::RunRatePoint at = rates.at(m.bytes);
  const HostLinkRates link = link_rates(at, m);
  const double slower = m.slower;
  const bool keeps = m.traffic == BenchTraffic::kGather || m.traffic == BenchTraffic::kScatter;
  const std::string source =
      fmt::format("measured by busbar bench on {} on {:%Y-%m-%d}, {} ranks on {} cores, buffers of {} KiB", m.name,
                  fmt::gmtime(std::time(nullptr)), m.ranks, m.cores, m.bytes >> 10);
  return fmt::format(
      "# A host whose ranks are threads or processes of one machine\n"
      "name: {0}\n"
      "node:\n"
      "  name: {0}\n"
      "  devices:\n"
      "    # an addition reads two bytes and writes one\n"
      "    - {{name: gpu, count: {1}, memory: 1GB, memory_rate: {2:.4g}GB/s}}\n"
      "    # what all cores move together\n"
      "    - {{name: memory, count: 1, kind: numa, transit_rate: {3:.4g}GB/s}}\n"
      "  links:\n"
      "    - {{between: [gpu*, memory0], kind: host, rate: {4:.4g}GB/s}}\n"
      "  protocol: {{step_server: {5:.0f}ns, per_message: {8:.0f}ns, chunk: {6}KiB}}\n"
      "  source: \"{7}\"\n",
      m.name, m.ranks, 3 * at.add_bytes_per_s / slower / 1e9, link.together / slower / 1e9, link.link / slower / 1e9,
      (keeps ? rates.kept_message_s : rates.hop_s) * slower * 1e9, kBenchPiece >> 10, source,
      (keeps ? rates.kept_message_s : rates.per_message_s) * slower * 1e9);
}

}  // namespace busbar::questions
