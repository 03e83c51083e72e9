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

std::optional<double> percent_off(const Outcome& o, const std::optional<double>& predicted_ms) {
  if (!predicted_ms || !o.about.closed_form_ms) return std::nullopt;
  return 100 * (*predicted_ms / *o.about.closed_form_ms - 1);
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

void print_table(const std::vector<Outcome>& outcomes, const Machine& m, const std::string& peers_source) {
  fmt::print("{} x {}, {:.0f} GiB, {}, load {:.1f}, {}\n", m.cores, m.cpu, m.memory_gib, m.kernel, m.load_1min,
             m.time_utc);
  fmt::print("{:<13} {:<35} {:>9} {:>16} {:>7} {:>9} {:>7} {:>12} {:>11} {:>9}  {}\n", "case", "program", "cpu s",
             "lowest..highest", "target", "peak MiB", "target", "predicted ms", "closed form", "off %", "targets");
  bool any_peer = false;
  for (const Outcome& o : outcomes) {
    const auto cpu = each(o.runs, &Usage::cpu_s);
    const auto [low, high] = std::minmax_element(cpu.begin(), cpu.end());
    fmt::print("{:<13} {:<35} {:>9.4f} {:>16} {:>7} {:>9.1f} {:>7} {:>12} {:>11} {:>9}  {}\n", o.about.name, "busbar",
               median(cpu), fmt::format("{:.4f}..{:.4f}", *low, *high), or_dash(o.about.target_cpu_s, "{:g}"),
               median_peak_mib(o.runs), or_dash(o.about.target_peak_mib, "{:g}"), or_dash(o.predicted_ms, "{:.3f}"),
               or_dash(o.about.closed_form_ms, "{:.3f}"), or_dash(percent_off(o, o.predicted_ms), "{:+.4f}"),
               verdict(o));
    if (o.packet_hops && o.events_per_hop)
      fmt::print("{:<13} {:.0f} packet-hops, {:.3f} events each, {:.2f} million a second\n", "", *o.packet_hops,
                 *o.events_per_hop, *o.packet_hops / median(cpu) / 1e6);
    if (!o.old_runs.empty())
      fmt::print("{:<13} {:<35} {:>9.4f} {:>24} {:>9.1f}  now {:.3f} times the cpu\n", "", "busbar before",
                 median_cpu_s(o.old_runs), "", median_peak_mib(o.old_runs),
                 median(cpu) / std::max(median_cpu_s(o.old_runs), 1e-6));
    for (const Peer& p : o.about.peers) {
      any_peer = true;
      fmt::print("{:<13} {:<35} {:>9g} {:>24} {:>9g} {:>7} {:>12.3f} {:>11} {:>9}\n", "", p.name, p.cpu_s, "",
                 p.peak_mib, "", p.predicted_ms, "", or_dash(percent_off(o, p.predicted_ms), "{:+.1f}"));
    }
  }
  if (any_peer) print_wrapped("Other programs: " + peers_source, 118);
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
