#include "busbar/topology/matrix.h"

#include <fmt/core.h>

#include <set>
#include <string_view>

#include "busbar/topology/path_type.h"

namespace busbar::topology {
namespace {

/// The prefix for bonded links: the kind of the first scale-up link that does not go to a CPU.
const char* bond_of(const Topology& t, DeviceId gpu) {
  for (const LinkId l : t.out_links(gpu)) {
    if (t.kind(t.to(l)) == DeviceKind::kCpu) continue;
    if (t.link_class(l).kind == LinkKind::kXgmi) return "XG";
    if (t.link_class(l).kind == LinkKind::kIci) return "ICI";
    if (is_scale_up(t.link_class(l).kind)) return "NV";
  }
  return "NV";
}

std::string cell(const Topology& t, DeviceId a, DeviceId b, PathType type, PathType relayed, bool sockets) {
  if (a == b) return "X";
  switch (type) {
    case PathType::kNvl: {
      const std::uint32_t lanes = bonded_lanes(t, a, b);
      if (lanes > 0) return fmt::format("{}{}", bond_of(t, a), lanes);
      if (t.numa(a) != t.numa(b)) return name_of(PathType::kSys);  // scale-up links to the CPU and back
      return sockets ? "NODE" : "PHB";
    }
    case PathType::kPhb:
      return sockets ? "NODE" : "PHB";
    case PathType::kDis:
      return name_of(relayed);
    default:
      return name_of(type);
  }
}

constexpr std::pair<std::string_view, std::string_view> kLegend[] = {
    {"X", "the device itself"},
    {"NV", "a bonded set of # NVLinks"},
    {"XG", "a bonded set of # xGMI links"},
    {"ICI", "a bonded set of # inter-chip links"},
    {"NVB", "scale-up links with a GPU between them, chips of a torus any number"},
    {"C2C", "a chip-to-chip link between GPU and CPU"},
    {"PIX", "PCIe, at most one switch"},
    {"PXB", "PCIe, several switches, no host bridge"},
    {"P2C", "a chip-to-chip link, then the CPU's host bridge"},
    {"PHB", "PCIe and the CPU's host bridge"},
    {"NODE", "PCIe and from host bridge to host bridge inside one NUMA node"},
    {"SYS", "PCIe and the links between sockets or NUMA nodes"},
    {"DIS", "no path inside the server"},
};

void add_legend(RelationMatrix& m) {
  std::set<std::string> words;
  for (const auto& row : m.cells)
    for (const std::string& c : row) words.insert(c.substr(0, c.find_first_of("0123456789")));
  words.erase("P");  // P2C, cut at its digit
  words.erase("C");
  for (const auto& row : m.cells)
    for (const std::string& c : row)
      if (c == "P2C" || c == "C2C") words.insert(c);
  for (const auto& [word, meaning] : kLegend) {
    if (!words.contains(std::string(word))) continue;
    const bool counted = word == "NV" || word == "XG" || word == "ICI";
    m.legend.emplace_back(std::string(word) + (counted ? "#" : ""), meaning);
  }
}

/// The socket with fewest hops; the lowest number among equals.
std::string nearest_cpu(const Topology& t, const Block& block, const BlockPaths& paths) {
  std::string best = "N/A";
  auto fewest = std::pair(PathType::kDis, 0u);
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto d = static_cast<DeviceId>(block.first_device + p);
    if (t.kind(d) != DeviceKind::kCpu) continue;
    const auto far = std::pair(paths.type(d), paths.hops(d));
    if (far.first == PathType::kDis || far >= fewest) continue;
    fewest = far;
    best = t.templates()[block.template_index].devices[p].name;
  }
  return best;
}

}  // namespace

RelationMatrix relation_matrix(const Topology& t, BlockId id) {
  const Block& block = t.blocks()[index(id)];
  RelationMatrix m;
  std::uint32_t sockets = 0;
  for (const auto& [kind, prefix] : {std::pair(DeviceKind::kGpu, "GPU"), std::pair(DeviceKind::kNic, "NIC")}) {
    std::uint32_t number = 0;
    for (std::uint32_t p = 0; p < block.device_count; ++p) {
      const auto d = static_cast<DeviceId>(block.first_device + p);
      if (t.kind(d) != kind) continue;
      m.devices.push_back(d);
      m.names.push_back(fmt::format("{}{}", prefix, number++));
    }
  }
  for (std::uint32_t p = 0; p < block.device_count; ++p)
    sockets += t.kind(static_cast<DeviceId>(block.first_device + p)) == DeviceKind::kCpu;
  for (const DeviceId a : m.devices) {
    const BlockPaths plain(t, a, GpuRelay::kNo), relayed(t, a, GpuRelay::kYes);
    std::vector<std::string> row;
    for (const DeviceId b : m.devices) row.push_back(cell(t, a, b, plain.type(b), relayed.type(b), sockets > 1));
    m.cells.push_back(std::move(row));
    m.cpu_affinity.push_back(nearest_cpu(t, block, plain));
    m.numa_affinity.push_back(t.numa(a) < 0 ? "N/A" : std::to_string(t.numa(a)));
  }
  add_legend(m);
  return m;
}

}  // namespace busbar::topology
