#include "report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace busbar::bench {
namespace {

using nlohmann::ordered_json;

std::vector<double> each(const std::vector<Usage>& runs, double Usage::*field) {
  std::vector<double> values;
  for (const Usage& u : runs) values.push_back(u.*field);
  return values;
}

std::string or_dash(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

ordered_json or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

std::optional<double> percent_off(const Outcome& o) {
  if (!o.predicted_ms || !o.about.closed_form_ms) return std::nullopt;
  return 100 * (*o.predicted_ms / *o.about.closed_form_ms - 1);
}

void print_wrapped(const std::string& text, std::size_t width) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.size() - at <= width ? text.size() : text.rfind(' ', at + width);
    if (end == std::string::npos || end <= at) end = text.size();
    fmt::print("{}\n", text.substr(at, end - at));
    at = end + 1;
  }
}

std::string verdict(const Outcome& o) {
  if (o.exit_code != 0) return fmt::format("exit {}", o.exit_code);
  if (!o.about.target_cpu_s && !o.about.target_peak_mib) return "";
  return meets_targets(o) ? "met" : "MISSED";
}

}  // namespace

double median_cpu_s(const std::vector<Usage>& runs) { return median(each(runs, &Usage::cpu_s)); }
double median_peak_mib(const std::vector<Usage>& runs) { return median(each(runs, &Usage::peak_mib)); }

bool meets_targets(const Outcome& o) {
  return o.exit_code == 0 && (!o.about.target_cpu_s || median_cpu_s(o.runs) <= *o.about.target_cpu_s) &&
         (!o.about.target_peak_mib || median_peak_mib(o.runs) <= *o.about.target_peak_mib);
}

void print_table(const std::vector<Outcome>& outcomes, const Machine& m) {
  fmt::print("{} x {}, {:.0f} GiB, {}, load {:.1f}, {}\n", m.cores, m.cpu, m.memory_gib, m.kernel, m.load_1min,
             m.time_utc);
  fmt::print("{:<13} {:>9} {:>17} {:>9} {:>9} {:>9} {:>12} {:>11} {:>8}  {}\n", "case", "cpu s", "lowest..highest",
             "target", "peak MiB", "target", "predicted ms", "closed form", "off %", "targets");
  for (const Outcome& o : outcomes) {
    const auto cpu = each(o.runs, &Usage::cpu_s);
    const auto [low, high] = std::minmax_element(cpu.begin(), cpu.end());
    fmt::print("{:<13} {:>9.4f} {:>17} {:>9} {:>9.1f} {:>9} {:>12} {:>11} {:>8}  {}\n", o.about.name, median(cpu),
               fmt::format("{:.4f}..{:.4f}", *low, *high), or_dash(o.about.target_cpu_s, "{:g}"),
               median_peak_mib(o.runs), or_dash(o.about.target_peak_mib, "{:g}"), or_dash(o.predicted_ms, "{:.3f}"),
               or_dash(o.about.closed_form_ms, "{:.3f}"), or_dash(percent_off(o), "{:+.4f}"), verdict(o));
    if (o.packet_hops && o.events_per_hop) {
      fmt::print("{:>13} {:.0f} packet-hops, {:.3f} events each, {:.2f} million a second\n", "", *o.packet_hops,
                 *o.events_per_hop, *o.packet_hops / median(cpu) / 1e6);
    }
    if (!o.old_runs.empty()) {
      const double old_cpu = median_cpu_s(o.old_runs);
      fmt::print("{:>13} {:>9.4f} {:>37.1f} MiB, now {:.3f} times the cpu\n", "before", old_cpu,
                 median_peak_mib(o.old_runs), median(cpu) / std::max(old_cpu, 1e-6));
    }
  }
}

void print_peers(const std::vector<Outcome>& outcomes, const std::string& source) {
  const bool any =
      std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return !o.about.peers.empty(); });
  if (!any) return;
  fmt::print("\nOther simulators, same question\n{:<13} {:<36} {:>8} {:>9} {:>13}\n", "case", "simulator", "cpu s",
             "peak MiB", "predicted ms");
  for (const Outcome& o : outcomes) {
    for (const Peer& p : o.about.peers) {
      fmt::print("{:<13} {:<36} {:>8g} {:>9g} {:>13.3f}\n", o.about.name, p.name, p.cpu_s, p.peak_mib, p.predicted_ms);
    }
  }
  print_wrapped(source, 118);
}

std::string json_line(const Outcome& o, const Machine& m) {
  ordered_json line{{"schema", "busbar.bench/1"},
                    {"case", o.about.name},
                    {"command", o.about.command},
                    {"exit", o.exit_code},
                    {"runs", o.runs.size()},
                    {"cpu_s", median_cpu_s(o.runs)},
                    {"cpu_s_all", each(o.runs, &Usage::cpu_s)},
                    {"wall_s", median(each(o.runs, &Usage::wall_s))},
                    {"peak_mib", median_peak_mib(o.runs)},
                    {"predicted_ms", or_null(o.predicted_ms)},
                    {"closed_form_ms", or_null(o.about.closed_form_ms)},
                    {"target_cpu_s", or_null(o.about.target_cpu_s)},
                    {"target_peak_mib", or_null(o.about.target_peak_mib)}};
  if (o.packet_hops) line["packet_hops"] = *o.packet_hops;
  if (o.events_per_hop) line["events_per_hop"] = *o.events_per_hop;
  if (!o.old_runs.empty()) {
    line["before_cpu_s"] = median_cpu_s(o.old_runs);
    line["before_peak_mib"] = median_peak_mib(o.old_runs);
  }
  line["machine"] = {{"cpu", m.cpu},       {"cores", m.cores},         {"memory_gib", m.memory_gib},
                     {"kernel", m.kernel}, {"load_1min", m.load_1min}, {"time_utc", m.time_utc}};
  return line.dump();
}

}  // namespace busbar::bench
