#include "busbar/cli/topo_sharing.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/quantity.h"
#include "busbar/topology/tiers.h"

namespace busbar {
namespace {

std::string counted(std::size_t n, const char* one) { return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s"); }

/// "2 GPUs and 2 NICs", "4 GPUs".
std::string members(const PcieRoot& r) {
  std::string out = r.gpus.empty() ? "" : counted(r.gpus.size(), "GPU");
  if (!r.nics.empty()) out += (out.empty() ? "" : " and ") + counted(r.nics.size(), "NIC");
  return out;
}

std::string listed(const Topology& t, const PcieRoot& r) {
  constexpr std::size_t kMostListed = 8;
  std::vector<DeviceId> all = r.gpus;
  all.insert(all.end(), r.nics.begin(), r.nics.end());
  std::string out;
  for (std::size_t i = 0; i < std::min(all.size(), kMostListed); ++i)
    out += (out.empty() ? "" : " ") + name_in_node(t, all[i]);
  return all.size() > kMostListed ? out + " ..." : out;
}

/// Roots with as many GPUs and NICs are counted together: "4 roots with 2 GPUs and 2 NICs each (gpu0 gpu1 ...)".
std::string roots_sentence(const Topology& t, const std::vector<PcieRoot>& roots) {
  std::string out;
  std::vector<bool> told(roots.size());
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (told[i] || !roots[i].shared()) continue;
    std::size_t alike = 0;
    for (std::size_t k = i; k < roots.size(); ++k) {
      if (members(roots[k]) != members(roots[i])) continue;
      told[k] = true;
      ++alike;
    }
    out += fmt::format("{}{} shared by {}{} ({}: {})", out.empty() ? "" : "; ", counted(alike, "root"),
                       members(roots[i]), alike > 1 ? " each" : "", name_in_node(t, roots[i].top), listed(t, roots[i]));
  }
  if (out.empty()) return "none is shared: each GPU and NIC has a link of its own to its CPU";
  const auto own = std::count_if(roots.begin(), roots.end(), [](const PcieRoot& r) { return !r.shared(); });
  return own == 0 ? out : out + fmt::format("; {} alone", counted(static_cast<std::size_t>(own), "device"));
}

std::string tiers_sentence(const std::vector<TierRatio>& tiers) {
  std::string out;
  for (const TierRatio& t : tiers)
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", t.tier,
                       t.non_blocking() ? "yes" : fmt::format("no, {}:1", format_number(t.ratio)));
  return out;
}

}  // namespace

std::string name_in_node(const Topology& t, DeviceId d) {
  const std::string name = t.name(d);
  return name.substr(name.find('.') + 1);
}

SharedWays shared_ways(const Topology& t, BlockId node, const std::vector<Level>& levels, const Bisection& bisection,
                       const ScaleUpDomain& domain) {
  SharedWays out;
  if (t.blocks().empty()) return out;
  out.roots = pcie_roots(t, node);
  out.nics = gpu_nics(t, out.roots);
  for (const PcieRoot& r : out.roots) out.gpus += r.gpus.size();
  if (t.blocks().size() == 1 && domain.gpus > 1 && domain.gpus == t.gpus().size() && bisection.GBps > 0)
    out.tiers.push_back({"scale-up", domain.ports_GBps / domain.gpus * (domain.gpus / 2) / bisection.GBps});
  for (std::size_t i = 1; i < levels.size(); ++i)
    for (std::uint8_t tier = 1; tier < 16; ++tier)
      if (levels[i].name == tier_name(tier) && levels[i].ratio > 0)
        out.tiers.push_back({levels[i].name, levels[i].ratio});
  return out;
}

std::vector<std::pair<std::string, std::string>> sharing_facts(const Topology& t, const SharedWays& w) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!w.nics.empty())
    out.emplace_back("GPUs per NIC", fmt::format("{:.3g} ({} and {} in a node)",
                                                 static_cast<double>(w.gpus) / static_cast<double>(w.nics.size()),
                                                 counted(w.gpus, "GPU"), counted(w.nics.size(), "NIC")));
  if (!w.roots.empty()) out.emplace_back("PCIe roots", roots_sentence(t, w.roots));
  if (!w.tiers.empty()) out.emplace_back("non-blocking", tiers_sentence(w.tiers));
  return out;
}

void add_sharing(const Topology& t, const SharedWays& w, Json& out) {
  out["gpus_per_nic"] =
      w.nics.empty() ? Json(nullptr) : Json(static_cast<double>(w.gpus) / static_cast<double>(w.nics.size()));
  Json& roots = out["pcie_roots"] = Json::array();
  for (const PcieRoot& r : w.roots) {
    Json one{{"top", name_in_node(t, r.top)}, {"gpus", Json::array()}, {"nics", Json::array()}};
    for (const DeviceId d : r.gpus) one["gpus"].push_back(name_in_node(t, d));
    for (const DeviceId d : r.nics) one["nics"].push_back(name_in_node(t, d));
    roots.push_back(std::move(one));
  }
  Json& tiers = out["tiers"] = Json::array();
  for (const TierRatio& tier : w.tiers)
    tiers.push_back({{"tier", tier.tier}, {"ratio", tier.ratio}, {"non_blocking", tier.non_blocking()}});
}

}  // namespace busbar
