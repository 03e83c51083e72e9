#include "busbar/formats/odd_cables.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "busbar/formats/internal/ib_fabric.h"
#include "busbar/formats/internal/ib_fabric_lines.h"

namespace busbar::formats {
namespace {

constexpr double kMost = 0.6;  // share of the like that makes a rule

/// The value that at least six in ten have; empty if there is none, or of fewer than `least`.
template <typename Value>
std::optional<Value> usual(const std::map<Value, std::size_t>& counts, std::size_t least) {
  std::size_t all = 0;
  for (const auto& [value, n] : counts) all += n;
  for (const auto& [value, n] : counts)
    if (all >= least && static_cast<double>(n) >= kMost * static_cast<double>(all)) return value;
  return std::nullopt;
}

class OddCables {
 public:
  explicit OddCables(const ImportedFabric& f) : f_(f), t_(f.topology) {
    for (const FabricDevice& d : f_.devices)
      if (!d.name.empty()) by_name_[d.name] = &d;
  }

  std::vector<OddCable> find() {
    find_slow();
    const std::size_t slow = out_.size();
    find_missing_between_switches();
    find_missing_nics();
    std::stable_sort(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(slow),
                     [](const OddCable& a, const OddCable& b) { return a.line < b.line; });
    return std::move(out_);
  }

 private:
  using Kinds = std::pair<topology::DeviceKind, topology::DeviceKind>;

  Kinds kinds_of(const FabricCable& c) const {
    const topology::DeviceKind a = kind_of(c.a), b = kind_of(c.b);
    return std::minmax(a, b);
  }
  topology::DeviceKind kind_of(const FabricPort& p) const {
    const Result<topology::DeviceId> d = t_.find(f_.devices[p.device].name);
    return d.ok() ? t_.kind(*d) : topology::DeviceKind::kSwitch;
  }
  bool is_built(const FabricCable& c) const {
    return !f_.devices[c.a.device].name.empty() && !f_.devices[c.b.device].name.empty() && c.a.device != c.b.device;
  }
  std::string ends_of(const FabricCable& c) const {
    return fmt::format("{} port {} to {} port {}", f_.devices[c.a.device].description, c.a.port,
                       f_.devices[c.b.device].description, c.b.port);
  }
  std::string part_of(const FabricCable& c) const {
    return f_.devices[c.a.device].name + "-" + f_.devices[c.b.device].name;
  }

  void find_slow() {
    std::map<Kinds, std::map<std::int64_t, std::size_t>> rates;  // Mb/s
    const auto rate_of = [](const FabricCable& c) {
      return static_cast<std::int64_t>(ib_fabric::lane_Mbps(c.speed) * c.width);
    };
    for (const FabricCable& c : f_.cables)
      if (is_built(c)) ++rates[kinds_of(c)][rate_of(c)];
    for (const FabricCable& c : f_.cables) {
      if (!is_built(c)) continue;
      const auto normal = usual(rates[kinds_of(c)], 3);
      if (!normal || rate_of(c) >= *normal) continue;
      out_.push_back({false, part_of(c),
                      fmt::format("{} runs at {}x {} ({:.4g} Gb/s), cables like it at {:.4g} Gb/s", ends_of(c), c.width,
                                  c.speed, static_cast<double>(rate_of(c)) / 1e3, static_cast<double>(*normal) / 1e3),
                      c.line});
    }
  }

  void find_missing_between_switches() {
    std::map<std::pair<std::string, std::string>, std::size_t> cables;  // lower level first
    std::map<topology::DeviceKind, std::vector<std::string>> switches;
    for (const FabricDevice& d : f_.devices)
      if (d.is_switch && !d.name.empty())
        if (const Result<topology::DeviceId> id = t_.find(d.name); id.ok()) switches[t_.kind(*id)].push_back(d.name);
    for (const FabricCable& c : f_.cables) {
      if (!is_built(c)) continue;
      const bool ascending = kind_of(c.a) < kind_of(c.b);
      const std::string &a = f_.devices[c.a.device].name, &b = f_.devices[c.b.device].name;
      ++cables[ascending ? std::pair(a, b) : std::pair(b, a)];
    }
    const auto missing_between = [&](topology::DeviceKind low, topology::DeviceKind high) {
      std::map<std::size_t, std::size_t> numbers;
      const auto number = [&](const std::string& a, const std::string& b) {
        const auto at = cables.find({a, b});
        return at == cables.end() ? std::size_t{0} : at->second;
      };
      for (const std::string& a : switches[low])
        for (const std::string& b : switches[high]) ++numbers[number(a, b)];
      const auto normal = usual(numbers, 3);
      if (!normal) return;
      // A switch that is joined to few of the others belongs to another part of the network.
      constexpr double kLeastPeers = 0.4;
      const auto belongs = [&](const std::string& name, const std::vector<std::string>& peers, bool below) {
        const auto joined = [&](const std::string& peer) {
          return (below ? number(name, peer) : number(peer, name)) >= *normal;
        };
        return static_cast<double>(std::count_if(peers.begin(), peers.end(), joined)) >=
               kLeastPeers * static_cast<double>(peers.size());
      };
      for (const std::string& a : switches[low])
        for (const std::string& b : switches[high])
          if (const std::size_t n = number(a, b);
              n < *normal && belongs(a, switches[high], true) && belongs(b, switches[low], false))
            out_.push_back(
                {true, a + "-" + b,
                 fmt::format("{} and {} are joined by {} cable{}, switches like them by {}", by_name_[a]->description,
                             by_name_[b]->description, n, n == 1 ? "" : "s", *normal),
                 by_name_[a]->line});
    };
    missing_between(topology::DeviceKind::kLeaf, topology::DeviceKind::kSpine);
    missing_between(topology::DeviceKind::kSpine, topology::DeviceKind::kCore);
  }

  void find_missing_nics() {
    std::map<std::size_t, std::size_t> numbers;
    for (const topology::Block& b : t_.blocks()) ++numbers[b.device_count];
    const auto normal = usual(numbers, 4);
    for (std::size_t b = 0; normal && b < t_.blocks().size(); ++b)
      if (t_.blocks()[b].device_count < *normal)
        out_.push_back({true, fmt::format("node{}", b),
                        fmt::format("host {} has {} NICs in the network, hosts like it {}", f_.hosts[b],
                                    t_.blocks()[b].device_count, *normal),
                        0});
  }

  const ImportedFabric& f_;
  const topology::Topology& t_;
  std::map<std::string, const FabricDevice*> by_name_;
  std::vector<OddCable> out_;
};

}  // namespace

Result<std::optional<std::vector<OddCable>>> find_odd_cables(ImportSource& source) {
  const bool discover = looks_like_ibnetdiscover(source.head());
  if (!discover && !looks_like_iblinkinfo(source.head())) return std::optional<std::vector<OddCable>>();
  BUSBAR_ASSIGN(LineSource lines, source.lines());
  BUSBAR_ASSIGN(const ImportedFabric fabric, discover ? read_ibnetdiscover(lines) : read_iblinkinfo(lines));
  return std::optional(OddCables(fabric).find());
}

}  // namespace busbar::formats
