#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "busbar/formats/internal/ib_fabric_lines.h"

namespace busbar::formats::ib_fabric {
namespace {

constexpr std::size_t kMostFabricDevices = 1 << 20;

/// "a08-c01 mlx5_5" -> host and NIC; none if the last word is not a name of a NIC.
std::optional<std::pair<std::string, std::string>> host_and_nic(const std::string& description) {
  const std::string_view text = trimmed(description);
  const std::size_t space = text.rfind(' ');
  if (space == text.npos) return std::nullopt;
  std::string nic(text.substr(space + 1));
  const bool known = nic.starts_with("mlx") || nic.starts_with("HCA-") || nic.starts_with("ibp") ||
                     nic.starts_with("hfi") || nic.starts_with("bnxt") || nic.starts_with("ib");
  if (!known || nic.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != nic.npos)
    return std::nullopt;
  std::replace(nic.begin(), nic.end(), '-', '_');  // selectors use dashes
  return std::pair(std::string(trimmed(text.substr(0, space))), nic);
}

class FabricBuilder {
 public:
  explicit FabricBuilder(ImportedFabric& out) : out_(out) {}

  Status build(const std::string& name) {
    if (out_.devices.empty()) return invalid("no switch and no adapter in this file", {name, 0, 0, ""});
    if (out_.devices.size() > kMostFabricDevices) return invalid("more than a million devices", {name, 0, 0, ""});
    place_.assign(out_.devices.size(), kNone<topology::DeviceId>);
    find_levels();
    add_hosts();
    add_switches();
    add_cables();
    out_.topology = std::move(builder_).seal();
    return {};
  }

 private:
  /// Level 0: next to hosts; 1: next to level 0; and so on. Switches not connected to any host stay leaves.
  void find_levels() {
    level_.assign(out_.devices.size(), -1);
    std::vector<std::vector<std::size_t>> peers(out_.devices.size());
    std::vector<std::size_t> open;
    for (const FabricCable& c : out_.cables) {
      peers[c.a.device].push_back(c.b.device);
      peers[c.b.device].push_back(c.a.device);
    }
    for (std::size_t i = 0; i < out_.devices.size(); ++i)
      for (const std::size_t p : peers[i])
        if (out_.devices[i].is_switch && !out_.devices[p].is_switch && !out_.devices[p].aggregates && level_[i] < 0) {
          level_[i] = 0;
          open.push_back(i);
        }
    for (std::size_t head = 0; head < open.size(); ++head)
      for (const std::size_t p : peers[open[head]])
        if (out_.devices[p].is_switch && level_[p] < 0) {
          level_[p] = level_[open[head]] + 1;
          open.push_back(p);
        }
  }

  void add_hosts() {
    std::map<std::string, std::vector<std::pair<std::string, std::size_t>>> nics;  // host -> (NIC, device)
    for (std::size_t i = 0; i < out_.devices.size(); ++i) {
      const FabricDevice& d = out_.devices[i];
      if (d.is_switch || d.aggregates) continue;
      const auto named = host_and_nic(d.description);
      nics[named ? named->first : fmt::format("{:016x}", d.guid)].emplace_back(named ? named->second : "nic", i);
      if (!named) nameless_ = true;
    }
    std::map<std::vector<std::string>, std::uint32_t> templates;
    for (auto& [host, list] : nics) {
      std::sort(list.begin(), list.end());
      std::vector<std::string> names;
      for (auto& [nic, device] : list) {
        while (std::find(names.begin(), names.end(), nic) != names.end()) nic += "_";
        names.push_back(nic);
      }
      const auto [at, fresh] = templates.try_emplace(names, 0);
      if (fresh) {
        topology::NodeTemplate node;
        node.name = "host";
        for (const std::string& n : names) {
          topology::DeviceClass c;
          c.kind = topology::DeviceKind::kNic;
          node.devices.push_back({std::move(c), n, -1});
        }
        at->second = builder_.add_template(std::move(node));
      }
      const topology::BlockId block = builder_.add_block(at->second);
      for (std::uint32_t n = 0; n < list.size(); ++n) set_place(list[n].second, builder_.device(block, n));
      out_.hosts.push_back(host);
    }
    if (nameless_) out_.notes.push_back("adapters without a host's name count as a host each, by their GUID");
  }

  void set_place(std::size_t i, topology::DeviceId d) {
    place_[i] = d;
    out_.devices[i].name = builder_.peek().name(d);
  }

  void add_switches() {
    std::vector<bool> reduces(out_.devices.size(), false);
    for (const FabricCable& c : out_.cables) {
      if (out_.devices[c.a.device].aggregates) reduces[c.b.device] = true;
      if (out_.devices[c.b.device].aggregates) reduces[c.a.device] = true;
    }
    constexpr std::array kinds{topology::DeviceKind::kLeaf, topology::DeviceKind::kSpine, topology::DeviceKind::kCore};
    std::array<std::uint32_t, kinds.size()> count{};
    for (std::size_t i = 0; i < out_.devices.size(); ++i) {
      if (!out_.devices[i].is_switch) continue;
      const auto level = static_cast<std::size_t>(std::clamp<int>(level_[i], 0, kinds.size() - 1));
      topology::DeviceClass c;
      c.kind = kinds[level];
      c.reduces = reduces[i];
      set_place(
          i, builder_.add_switch(std::move(c), fmt::format("{}{}", topology::name_of(kinds[level]), count[level]++)));
    }
  }

  void add_cables() {
    for (const FabricCable& c : out_.cables) {
      const topology::DeviceId a = place_[c.a.device], b = place_[c.b.device];
      if (a == kNone<topology::DeviceId> || b == kNone<topology::DeviceId> || a == b) continue;
      topology::LinkClass link;
      link.kind = topology::LinkKind::kInfiniband;
      double Mbps = lane_Mbps(c.speed) * c.width;
      if (Mbps <= 0) {
        Mbps = 1000;
        add_unknown(out_.unknown, c.line, fmt::format("speed {}: 1 Gb/s is assumed", c.speed));
      }
      link.wire_rate = BytesPerSecond{static_cast<std::uint64_t>(Mbps * 1e6 / 8)};
      link.lanes = static_cast<std::uint16_t>(std::clamp(c.width, 1, 64));
      link.part = fmt::format("{}x {}", c.width, c.speed);
      builder_.connect(a, b, link);
    }
  }

  ImportedFabric& out_;
  topology::TopologyBuilder builder_;
  std::vector<topology::DeviceId> place_;
  std::vector<int> level_;
  bool nameless_ = false;
};

}  // namespace

std::size_t Collector::device(std::uint64_t guid, bool is_switch, std::string_view description, int line) {
  const auto [at, fresh] = by_guid_.try_emplace(guid, out.devices.size());
  if (fresh) {
    FabricDevice d;
    d.guid = guid;
    d.is_switch = is_switch;
    d.line = line;
    out.devices.push_back(std::move(d));
  }
  FabricDevice& d = out.devices[at->second];
  if (d.description.empty()) d.description = trimmed(description);
  d.aggregates = !d.is_switch && d.description.find("Aggregation Node") != d.description.npos;
  return at->second;
}

void Collector::cable(FabricCable c) {
  std::pair<std::size_t, int> a{c.a.device, c.a.port}, b{c.b.device, c.b.port};
  if (b < a) std::swap(a, b);
  if (seen_.insert({a, b}).second) out.cables.push_back(std::move(c));
}

bool take_rate(LineCursor& c, FabricCable& cable) {
  LineCursor ahead = c;
  if (!ahead.integer(cable.width, 1, 64) || !(ahead.accept("x") || ahead.accept("X"))) return false;
  ahead.blanks();
  cable.speed = ahead.word();
  c = ahead;
  return !cable.speed.empty() && cable.speed.size() < 16;
}

double lane_Mbps(std::string_view speed) {
  struct Speed {
    std::string_view name;
    double Mbps;
  };
  constexpr Speed kSpeeds[] = {{"SDR", 2000},   {"DDR", 4000},   {"QDR", 8000},    {"FDR10", 10'000}, {"FDR", 13'636},
                               {"EDR", 25'000}, {"HDR", 50'000}, {"NDR", 100'000}, {"XDR", 200'000}};
  for (const Speed& s : kSpeeds)
    if (speed == s.name) return s.Mbps;
  return 0;
}

Status build_topology(ImportedFabric& fabric, const std::string& name) { return FabricBuilder(fabric).build(name); }

}  // namespace busbar::formats::ib_fabric
