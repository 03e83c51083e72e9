#include "busbar/questions/bench_host.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <ctime>

namespace busbar::questions {

std::string host_cluster_yaml(const runtime::RunRates& rates, const BenchMachine& m) {
  const runtime::RunRatePoint at = rates.at(m.bytes);
  const double each = m.keeps  ? at.kept_copy_bytes_per_s
                      : m.adds ? 2 / (1 / at.copy_bytes_per_s + 1 / at.add_bytes_per_s)
                               : at.copy_bytes_per_s;
  const double alone = std::max({at.one_copy_bytes_per_s, each, m.keeps ? 0 : at.copy_bytes_per_s});
  const double together = m.keeps ? std::max(m.ranks * each, alone) : m.ranks * each;
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
      m.name, m.ranks, 3 * at.add_bytes_per_s / 1e9, together / 1e9, alone / 1e9,
      (m.keeps ? rates.kept_message_s : rates.hop_s) * 1e9, kBenchPiece >> 10, source,
      (m.keeps ? rates.kept_message_s : rates.per_message_s) * 1e9);
}

}  // namespace busbar::questions
