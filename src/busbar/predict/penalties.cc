#include "busbar/predict/penalties.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <vector>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/spec/reading.h"

namespace busbar::predict {
namespace {

using BySize = std::array<SizePenalty, 4>;
/// Figures of tools/write_penalties.py: the means of log(bytes) of the web search's flows in each class, and the bytes
/// in flight of its network, 50 GB/s x 4.338 us.
constexpr double kMiddles[] = {8.55e3, 68.3e3, 1.12e6, 7.02e6}, kTabulatedBdp = 216.9e3;
constexpr const char* kClassKeys[] = {"below_30kB", "below_300kB", "below_3MB", "above"};

Result<BySize> read_classes(const YamlNode& node) {
  BySize out;
  MapReader classes(node);
  for (std::size_t c = 0; c < out.size(); ++c) {
    MapReader r(classes.required(kClassKeys[c]));
    r.required("mean", &YamlNode::as_number, out[c].mean, 0.01, 1000);
    r.required("p50", &YamlNode::as_number, out[c].p50, 0.01, 1000);
    r.required("p99", &YamlNode::as_number, out[c].p99, 0.01, 1000);
    BUSBAR_RETURN_IF_ERROR(r.finish());
  }
  BUSBAR_RETURN_IF_ERROR(classes.finish());
  return out;
}

double between(double a, double b, double part) { return a + part * (b - a); }
SizePenalty between(const SizePenalty& a, const SizePenalty& b, double part) {
  return {between(a.mean, b.mean, part), between(a.p50, b.p50, part), between(a.p99, b.p99, part)};
}
BySize between(const BySize& a, const BySize& b, double part) {
  BySize out;
  for (std::size_t c = 0; c < out.size(); ++c)
    out[c] = {between(a[c].mean, b[c].mean, part), between(a[c].p50, b[c].p50, part),
              between(a[c].p99, b[c].p99, part)};
  return out;
}
NetworkPenalty between(const NetworkPenalty& a, const NetworkPenalty& b, double part) {
  NetworkPenalty out;
  out.mean = between(a.mean, b.mean, part);
  out.p99 = between(a.p99, b.p99, part);
  return out;
}

/// The row of a table at `x`: linear in `scale` between the tabulated numbers, constant beyond them. `read` reads a
/// row.
template <typename Read>
auto row_at(
    const YamlNode& table, double x, Read read, double (*scale)(double) = [](double v) { return v; })
    -> decltype(read(table)) {
  std::remove_cvref_t<decltype(*read(table))> out{};
  double before = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    double at = 0;
    if (!is_number(table.key(i), at)) return invalid("the rows of this table are numbers", table.key_where(i));
    BUSBAR_ASSIGN(const auto here, read(table.item(i)));
    const auto part = [&] { return (scale(x) - scale(before)) / (scale(at) - scale(before)); };
    out = i == 0 ? here : between(out, here, std::clamp(part(), 0.0, 1.0));
    before = at;
    if (x <= at) break;
  }
  return out;
}

/// A factor of transfers; below 1 only by chance, as fair sharing fills the fullest link.
Result<NetworkPenalty> read_factor(const YamlNode& node) {
  NetworkPenalty out;
  MapReader r(node);
  r.required("mean", &YamlNode::as_number, out.mean, 0.01, 1000);
  r.required("p99", &YamlNode::as_number, out.p99, 0.01, 1000);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  out.mean = std::max(1.0, out.mean);
  out.p99 = std::max(out.mean, out.p99);
  return out;
}

/// The part of the excess over fair sharing that is left at a load where a share `crossing` of the bytes crosses
/// between switches.
Result<double> part_of_excess(const YamlNode& loads, double load, double crossing) {
  constexpr double kMost = 2;  // below 1 but for chance at low loads
  const auto part = [](const YamlNode& node) { return node.as_number(0, kMost); };
  return row_at(loads, load, [&](const YamlNode& shares) { return row_at(shares, crossing, part); });
}

/// The part of the excess of 1 ms in the tabulated network that is of flows that start during more or less: there, a
/// host's cable carries `cable_bytes` meanwhile.
Result<double> part_by_time(const YamlNode& loads, double load, double cable_bytes) {
  constexpr double kMost = 10, kMega = 1e6;
  const auto part = [](const YamlNode& node) { return node.as_number(0, kMost); };
  const auto log = [](double v) { return std::log(v); };
  return row_at(loads, load, [&](const YamlNode& row) { return row_at(row, cable_bytes / kMega, part, log); });
}

/// The tables of an entry of catalog/penalties. `crossing` and `lasting` are there only where they matter.
struct PenaltyTables {
  YamlNode loads, fan_in;
  std::optional<YamlNode> crossing, lasting;
};
Result<PenaltyTables> tables_of(const YamlDocument& document) {
  MapReader r = spec::sourced(document.root());
  std::string words;
  r.optional("name", &YamlNode::as_string, words);
  const YamlNode loads = r.required("loads"), fan_in = r.required("fan_in");
  const std::optional<YamlNode> crossing = r.optional("crossing"), lasting = r.optional("lasting");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  return PenaltyTables{loads, fan_in, crossing, lasting};
}

Result<YamlDocument> open_penalties(const std::string& transport, const std::string& balance,
                                    const std::string& catalog_directory) {
  return spec::Catalog(catalog_directory).load("penalties", transport + "-" + balance);
}

}  // namespace

SizePenalty Penalties::of(double bytes) const {
  constexpr double kFurther = -0.5;  // classes: smaller flows are not tabulated
  const double size = std::max(1.0, bytes * size_scale);
  std::size_t c = 0;
  while (c + 2 < by_size.size() && size > kMiddles[c + 1]) ++c;
  const double part = std::log(size / kMiddles[c]) / std::log(kMiddles[c + 1] / kMiddles[c]);
  return between(by_size[c], by_size[c + 1], std::clamp(part, kFurther, 1.0));
}

Result<Penalties> load_penalties(const std::string& transport, const std::string& balance, const NetworkUse& use,
                                 const std::string& catalog_directory) {
  BUSBAR_ASSIGN(const YamlDocument document, open_penalties(transport, balance, catalog_directory));
  BUSBAR_ASSIGN(const PenaltyTables tables, tables_of(document));
  Penalties out{transport, balance, use, use.bdp_bytes > 0 ? kTabulatedBdp / use.bdp_bytes : 1, {}};
  BUSBAR_ASSIGN(out.by_size, row_at(tables.loads, use.load, read_classes));
  double part = 1;
  if (tables.crossing) {
    BUSBAR_ASSIGN(part, part_of_excess(*tables.crossing, use.load, use.crossing));
  }
  if (tables.lasting && use.cable_bytes > 0) {
    BUSBAR_ASSIGN(const double lasting, part_by_time(*tables.lasting, use.load, use.cable_bytes));
    part *= lasting;
  }
  for (SizePenalty& c : out.by_size)
    for (double* const factor : {&c.mean, &c.p50, &c.p99}) *factor = 1 + part * (*factor - 1);
  return out;
}

Result<NetworkPenalty> load_call_penalty(const std::string& transport, const std::string& balance, double fan_in,
                                         const std::string& catalog_directory) {
  BUSBAR_ASSIGN(const YamlDocument document, open_penalties(transport, balance, catalog_directory));
  BUSBAR_ASSIGN(const PenaltyTables tables, tables_of(document));
  BUSBAR_ASSIGN(NetworkPenalty out, row_at(tables.fan_in, fan_in, read_factor, [](double v) { return std::log(v); }));
  out.transport = transport;
  out.balance = balance;
  out.fan_in = fan_in;
  return out;
}

double fan_in_of(collectives::Collective op, std::uint32_t n, const topology::Topology& t) {
  const bool many = op == collectives::Collective::kAllToAll || op == collectives::Collective::kAllToAllV ||
                    op == collectives::Collective::kGather;
  const double near = static_cast<double>(t.gpus().size()) / static_cast<double>(t.blocks().size());
  return many ? std::max(1.0, n - near) : 1;
}

Status choose_paths(const std::string& balance, spec::Cluster& cluster) {
  if (balance == "ecmp")
    cluster.routing = topology::RoutingPolicy::kStatic;
  else if (balance == "spray")
    cluster.routing = topology::RoutingPolicy::kSpray;
  else if (balance == "adaptive")
    cluster.routing = topology::RoutingPolicy::kAdaptive;
  else if (!balance.empty())
    return invalid(fmt::format("fluids have no '{}'; use ecmp, spray or adaptive", balance), {"", 0, 0, "--lb"});
  return {};
}

std::string balance_of(const spec::Cluster& cluster) {
  return cluster.routing == topology::RoutingPolicy::kSpray      ? "spray"
         : cluster.routing == topology::RoutingPolicy::kAdaptive ? "adaptive"
                                                                 : "ecmp";
}

std::string name_of(const Penalties& p) {
  return fmt::format("{} over {} at a load of {}", p.transport, p.balance, format_number(p.use.load, 2));
}

}  // namespace busbar::predict
