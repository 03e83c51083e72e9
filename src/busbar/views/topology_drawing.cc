#include "busbar/views/topology_drawing.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <vector>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/report/heat_legend.h"
#include "busbar/report/layered_drawing.h"
#include "busbar/report/style.h"
#include "busbar/topology/tiers.h"
#include "busbar/views/mesh_drawing.h"

namespace busbar::views {
namespace {

struct Place {
  std::uint32_t layer = 0, node = 0;
};

int colour_of(topology::DeviceKind k) {
  switch (k) {
    case topology::DeviceKind::kGpu:
      return report::colour::kGpu;
    case topology::DeviceKind::kNic:
      return report::colour::kNic;
    case topology::DeviceKind::kCpu:
    case topology::DeviceKind::kNuma:
      return report::colour::kCpu;
    case topology::DeviceKind::kLeaf:
      return report::colour::kLeaf;
    case topology::DeviceKind::kSpine:
    case topology::DeviceKind::kCore:
      return report::colour::kSpine;
    default:
      return report::colour::kSwitch;
  }
}

const char* title_of(topology::DeviceKind k) {
  switch (k) {
    case topology::DeviceKind::kGpu:
      return "GPUs";
    case topology::DeviceKind::kNic:
      return "NICs";
    case topology::DeviceKind::kCpu:
      return "CPU sockets";
    case topology::DeviceKind::kNuma:
      return "NUMA nodes";
    case topology::DeviceKind::kPcieSwitch:
      return "PCIe switches";
    case topology::DeviceKind::kRootPort:
      return "root ports";
    case topology::DeviceKind::kNvme:
      return "NVMe drives";
    case topology::DeviceKind::kNvSwitch:
      return "NVSwitches";
    case topology::DeviceKind::kLeaf:
      return "leaf switches";
    case topology::DeviceKind::kSpine:
      return "spine switches";
    case topology::DeviceKind::kCore:
      return "core switches";
    default:
      return "switches";
  }
}

/// "50 GB/s", "62.5 GB/s"
std::string short_rate(BytesPerSecond rate) {
  std::string out = format_rate(static_cast<double>(per_second(rate)));
  for (const char* zeros : {".00 ", ".0 "})
    if (const std::size_t at = out.find(zeros); at != std::string::npos)
      out.erase(at, std::string_view(zeros).size() - 1);
  return out;
}

/// The number of the NIC in its server if all cables of a leaf to servers go to the same one: the leaf's rail. Else -1.
int rail_of(const topology::Topology& t, topology::DeviceId leaf) {
  std::string nic;
  for (const topology::LinkId l : t.out_links(leaf)) {
    if (t.block_of(t.to(l)) == kNone<topology::BlockId>) continue;
    const std::string name = t.name(t.to(l)), own = name.substr(name.find('.') + 1);
    if (!nic.empty() && own != nic) return -1;
    nic = own;
  }
  return nic.starts_with("nic") && nic.size() > 3 && nic.size() < 6 ? std::atoi(nic.c_str() + 3) : -1;
}

/// Colours of rails; rails beyond these begin again.
constexpr int kRailColours[] = {report::colour::kCompute,   report::colour::kTp,   report::colour::kDp,
                                report::colour::kPp,        report::colour::kCp,   report::colour::kEp,
                                report::colour::kOptimizer, report::colour::kOther};

/// One line per pair of places, with the busiest of its links and their number.
class Lines {
 public:
  Lines(const topology::Topology& t, const LinkHeat& heat) : t_(t), heat_(heat) {}
  void add(Place a, Place b, topology::LinkId l, int colour = -1) {
    Line& line = lines_[{a.layer, a.node, b.layer, b.node}];
    double heat = -1;
    if (!heat_.load.empty()) heat = std::max(heat_.load[index(l)], heat_.load[index(topology::reverse(l))]);
    if (line.cables++ == 0 || heat > line.heat) line.link = l, line.heat = heat;
    line.colour = colour;
  }
  /// "Busiest while GPUs wait: a->b 22 %, ..."; empty without loads.
  std::string busiest() const {
    std::vector<const Line*> hot;
    for (const auto& [key, line] : lines_)
      if (line.heat > 0) hot.push_back(&line);
    std::stable_sort(hot.begin(), hot.end(), [](const Line* a, const Line* b) { return a->heat > b->heat; });
    std::string out;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, hot.size()); ++i)
      out += fmt::format("{}{} {:.2g} %", i == 0 ? "Busiest " + heat_.during + ": " : ", ", t_.name(hot[i]->link),
                         100 * hot[i]->heat);
    return out.empty() ? out : out + ".";
  }
  void write(report::LayeredDrawing& d) const {
    d.heat_name = "busy " + heat_.during;
    d.heat_end = heat_.end();
    for (const auto& [key, line] : lines_) {
      const topology::LinkClass& c = t_.link_class(line.link);
      std::string tip = fmt::format("{}: {} per direction", t_.name(line.link),
                                    format_rate(static_cast<double>(per_second(c.wire_rate))));
      if (line.cables > 1) tip += fmt::format(", {} cables", line.cables);
      if (line.heat >= 0) tip += fmt::format(", {} % busy {}", format_number(100 * line.heat, 2), heat_.during);
      if (c.health < 1) tip += c.health > 0 ? fmt::format(", degraded to {}", format_number(c.health)) : ", failed";
      d.edges.push_back({{key[0], key[1]},
                         {key[2], key[3]},
                         line.heat,
                         topology::is_scale_up(c.kind) ? 2.0 : 1.5,
                         tip,
                         line.cables,
                         short_rate(c.wire_rate),
                         line.colour});
    }
  }

 private:
  struct Line {
    topology::LinkId link{};
    double heat = -1;
    std::uint32_t cables = 0;
    int colour = -1;
  };
  const topology::Topology& t_;
  const LinkHeat& heat_;
  std::map<std::array<std::uint32_t, 4>, Line> lines_;
};

/// Servers, with all servers on the same switches in one box. `box_of`: block -> its box.
report::Layer server_row(const topology::Topology& t, std::vector<std::uint32_t>& box_of) {
  const auto blocks = static_cast<std::uint32_t>(t.blocks().size());
  std::vector<std::vector<topology::DeviceId>> attached(blocks);
  for (const topology::DeviceId s : t.fabric_switches())
    for (const topology::LinkId l : t.out_links(s))
      if (const topology::BlockId b = t.block_of(t.to(l)); b != kNone<topology::BlockId>)
        if (auto& list = attached[index(b)]; list.empty() || list.back() != s) list.push_back(s);
  constexpr std::size_t kMostWords = 10;  ///< boxes with room for "32 servers"
  constexpr std::uint32_t kEach = 16;     // up to this many boxes have room for a name each
  std::map<std::vector<topology::DeviceId>, std::uint32_t> boxes;
  std::vector<std::uint32_t> first, size;
  for (std::uint32_t b = 0; b < blocks; ++b) {
    const auto fresh = static_cast<std::uint32_t>(first.size());
    const std::uint32_t box = blocks <= kEach ? fresh : boxes.emplace(attached[b], fresh).first->second;
    if (box == fresh) first.push_back(b), size.push_back(0);
    ++size[box];
    box_of.push_back(box);
  }
  report::Layer row;
  const bool many = first.size() > kMostWords;
  row.title = many ? "servers in each" : "servers";
  for (std::size_t i = 0; i < first.size(); ++i) {
    const std::string kind = t.templates()[t.blocks()[first[i]].template_index].name;
    std::string label = size[i] == 1 ? fmt::format("node{}", first[i]) : fmt::format("{} servers", size[i]);
    if (many && size[i] > 1) label = std::to_string(size[i]);
    row.nodes.push_back(
        {std::move(label), report::colour::kGpu, -1, fmt::format("{} x {}, from node{}", size[i], kind, first[i]), 0});
  }
  return row;
}

/// Top to bottom. Without PCIe switches, CPUs are next to the GPUs below them, and NICs are under the GPUs. The lower
/// levels of two-level PCIe switches have their own row, under the devices attached to them.
struct Row {
  topology::DeviceKind kind{};
  bool lower = false;
};
std::vector<Row> rows_of(const topology::Topology& t, const topology::Block& block) {
  bool switches = false, levels = false;
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto d = static_cast<topology::DeviceId>(block.first_device + p);
    switches = switches || t.kind(d) == topology::DeviceKind::kPcieSwitch;
    levels = levels || t.device_class(d).lower_level;
  }
  using K = topology::DeviceKind;
  std::vector<Row> out;
  for (const K k : {K::kOcs, K::kCore, K::kSpine, K::kLeaf, K::kNvSwitch, K::kSwitch, K::kGpu}) out.push_back({k});
  if (levels) {
    for (const Row r :
         {Row{K::kNic}, Row{K::kPcieSwitch, true}, Row{K::kPcieSwitch}, Row{K::kNvme}, Row{K::kRootPort}, Row{K::kCpu}})
      out.push_back(r);
  } else if (switches) {
    for (const K k : {K::kPcieSwitch, K::kNic, K::kNvme, K::kRootPort, K::kCpu}) out.push_back({k});
  } else {
    for (const K k : {K::kRootPort, K::kCpu, K::kNic, K::kNvme}) out.push_back({k});
  }
  out.push_back({K::kNuma});
  return out;
}

constexpr std::uint8_t kCoreTier = 3;       ///< higher tiers have no name of their own
constexpr std::size_t kMostLongNames = 12;  ///< in one row; with more boxes a word does not fit

/// "nvswitch17" as "sw17".
std::string short_name(const std::string& name) { return name.starts_with("nvswitch") ? "sw" + name.substr(8) : name; }

// A rack as NVIDIA builds its NVL72: 18 compute trays of 4 GPUs and 9 trays of NVSwitches; NVL36 has 9 compute trays.
constexpr std::uint32_t kTrayGpus = 4, kSwitchTrays = 9;

/// Devices of the block by kind, in its order.
std::map<topology::DeviceKind, std::vector<topology::DeviceId>> by_kind(const topology::Topology& t,
                                                                        const topology::Block& block) {
  std::map<topology::DeviceKind, std::vector<topology::DeviceId>> out;
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto device = static_cast<topology::DeviceId>(block.first_device + p);
    out[t.kind(device)].push_back(device);
  }
  return out;
}

bool has_trays(const topology::Topology& t, const topology::Block& block) {
  const auto kinds = by_kind(t, block);
  const auto count = [&](topology::DeviceKind k) { return kinds.contains(k) ? kinds.at(k).size() : 0; };
  const std::size_t gpus = count(topology::DeviceKind::kGpu), switches = count(topology::DeviceKind::kNvSwitch);
  return (gpus == 36 || gpus == 72) && switches > 0 && switches % kSwitchTrays == 0;
}

report::Drawing draw_trays(const topology::Topology& t, topology::BlockId id, const LinkHeat& heat) {
  const topology::Block& block = t.blocks()[index(id)];
  const auto kinds = by_kind(t, block);
  const std::size_t gpus = kinds.at(topology::DeviceKind::kGpu).size(), trays = gpus / kTrayGpus;
  report::LayeredDrawing d;
  d.title = fmt::format("node{} ({}): {} compute trays and {} switch trays", index(id),
                        t.templates()[block.template_index].name, trays, kSwitchTrays);
  d.description = "Trays of the rack and the NVLinks between them.";
  d.layers = {{"switch trays", {}, {}}, {"compute trays", {}, {}}};
  for (std::uint32_t i = 0; i < kSwitchTrays; ++i)
    d.layers[0].nodes.push_back({std::to_string(i), report::colour::kSwitch, -1, fmt::format("switch tray {}", i), 0});
  for (std::uint32_t i = 0; i < trays; ++i)
    d.layers[1].nodes.push_back({std::to_string(i), report::colour::kGpu, -1, fmt::format("compute tray {}", i), 0});
  std::map<topology::DeviceId, Place> places;
  std::string inside;
  for (const auto& [kind, devices] : kinds) {
    const bool above = kind == topology::DeviceKind::kNvSwitch;
    const std::size_t boxes = above ? kSwitchTrays : trays;
    for (std::size_t i = 0; i < devices.size(); ++i)
      places[devices[i]] = {above ? 0u : 1u, static_cast<std::uint32_t>(i * boxes / devices.size())};
    if (kind == topology::DeviceKind::kNuma) continue;
    append_word(inside,
                fmt::format("{} {} per {} tray", devices.size() / boxes, title_of(kind), above ? "switch" : "compute"));
  }
  Lines lines(t, heat);
  for (std::uint32_t l = block.first_link; l < block.first_link + block.link_count; l += 2) {
    const Place a = places.at(t.from(static_cast<topology::LinkId>(l))),
                b = places.at(t.to(static_cast<topology::LinkId>(l)));
    if (a.layer != b.layer) lines.add(a, b, static_cast<topology::LinkId>(l));
  }
  lines.write(d);
  d.note = fmt::format("{}. Links inside trays are not drawn. {}", inside, lines.busiest());
  return report::lay_out(d);
}

/// The server with the busiest link of its own or to its NICs; the first where none is busy.
topology::BlockId busiest_block(const topology::Topology& t, const LinkHeat& heat) {
  topology::BlockId block{0};
  double most = 0;
  for (std::uint32_t l = 0; l < heat.load.size(); ++l) {
    if (heat.load[l] <= most) continue;
    for (const topology::DeviceId end : {t.from(topology::LinkId{l}), t.to(topology::LinkId{l})})
      if (t.block_of(end) != kNone<topology::BlockId>) block = t.block_of(end), most = heat.load[l];
  }
  return block;
}

}  // namespace

double LinkHeat::end() const {
  return load.empty() ? 0 : report::heat_end(*std::max_element(load.begin(), load.end()));
}

std::vector<double> LinkHeat::shades() const {
  std::vector<double> out = load;
  const double most = end();
  for (double& x : out) x /= most;
  return out;
}

report::Drawing draw_node(const topology::Topology& t, topology::BlockId id, const LinkHeat& heat) {
  const topology::Block& block = t.blocks()[index(id)];
  if (has_trays(t, block)) return draw_trays(t, id, heat);
  report::LayeredDrawing d;
  const std::string what = t.templates()[block.template_index].name;
  d.title = fmt::format("Inside node{} ({})", index(id), what);
  d.description = fmt::format("Devices of one {} in rows and the links between them.", what);
  std::map<topology::DeviceId, Place> places;
  for (const auto [kind, lower] : rows_of(t, block)) {
    report::Layer layer;
    layer.title = lower ? "their lower levels" : title_of(kind);
    for (std::uint32_t p = 0; p < block.device_count; ++p) {
      const auto device = static_cast<topology::DeviceId>(block.first_device + p);
      if (t.kind(device) != kind || t.device_class(device).lower_level != lower) continue;
      places[device] = {static_cast<std::uint32_t>(d.layers.size()), static_cast<std::uint32_t>(layer.nodes.size())};
      const std::string name = t.templates()[block.template_index].devices[p].name;
      layer.nodes.push_back({lower ? "PCIe" : name, colour_of(kind), -1, name + " " + t.device_class(device).part, 0});
    }
    if (kind == topology::DeviceKind::kNuma && layer.nodes.size() > kMostLongNames) {  // one per CPU: no information
      std::erase_if(places, [&t, kind = kind](const auto& place) { return t.kind(place.first) == kind; });
      continue;
    }
    if (layer.nodes.size() > kMostLongNames)
      for (report::LayeredNode& n : layer.nodes) n.label = short_name(n.label);
    if (!layer.nodes.empty()) d.layers.push_back(std::move(layer));
  }
  Lines lines(t, heat);
  for (std::uint32_t l = block.first_link; l < block.first_link + block.link_count; l += 2) {
    const auto link = static_cast<topology::LinkId>(l);
    const bool direct =
        t.kind(t.from(link)) == topology::DeviceKind::kGpu && t.kind(t.to(link)) == topology::DeviceKind::kGpu;
    const bool shown = places.contains(t.from(link)) && places.contains(t.to(link));
    if (!direct && shown) lines.add(places.at(t.from(link)), places.at(t.to(link)), link);
  }
  lines.write(d);
  d.note = lines.busiest();
  report::Drawing drawn = report::lay_out(d);
  return can_draw_mesh(t, id) ? stack(draw_mesh(t, id, heat.shades()), std::move(drawn)) : drawn;
}

report::Drawing draw_fabric(const topology::Topology& t, const LinkHeat& heat) {
  report::LayeredDrawing d;
  d.title = "Fabric";
  d.link_name = "cable";
  d.description = "Switches of the network in tiers above the servers, and the cables between them.";
  if (t.fabric_switches().empty()) return {};
  std::map<topology::DeviceId, Place> places;
  const std::vector<std::uint8_t> tiers = topology::switch_tiers(t);
  std::vector<topology::DeviceId> leaves;
  for (std::uint8_t tier = *std::max_element(tiers.begin(), tiers.end()); tier > 0; --tier) {
    report::Layer layer;
    for (const topology::DeviceId s : t.fabric_switches()) {
      if (tiers[index(s)] != tier) continue;
      places[s] = {static_cast<std::uint32_t>(d.layers.size()), static_cast<std::uint32_t>(layer.nodes.size())};
      layer.title = tier > kCoreTier ? topology::tier_name(tier) : title_of(t.kind(s));
      layer.nodes.push_back({t.name(s), colour_of(t.kind(s)), -1, t.name(s) + " " + t.device_class(s).part, 0});
      if (tier == 1) leaves.push_back(s);
    }
    if (!layer.nodes.empty()) d.layers.push_back(std::move(layer));
  }
  std::vector<std::uint32_t> box_of;
  const auto server_layer = static_cast<std::uint32_t>(d.layers.size());
  d.layers.push_back(server_row(t, box_of));
  Lines lines(t, heat);
  std::size_t beside = 0;  // seen from both ends
  bool rails = leaves.size() > 1;
  for (const topology::DeviceId s : leaves) rails = rails && rail_of(t, s) >= 0;
  for (const topology::DeviceId s : t.fabric_switches()) {
    const int rail = rails ? rail_of(t, s) : -1;
    const int colour = rail < 0 ? -1 : kRailColours[static_cast<std::size_t>(rail) % std::size(kRailColours)];
    for (const topology::LinkId l : t.out_links(s)) {
      const topology::BlockId b = t.block_of(t.to(l));
      if (b != kNone<topology::BlockId>)
        lines.add(places.at(s), {server_layer, box_of[index(b)]}, l, colour);
      else if (places.at(s).layer < places.at(t.to(l)).layer)
        lines.add(places.at(s), places.at(t.to(l)), l);
      else if (places.at(s).layer == places.at(t.to(l)).layer)
        ++beside;
    }
  }
  if (rails && heat.load.empty())
    d.note = "Cables to servers have the colour of their rail: NIC i of every server is on rail i.";
  lines.write(d);
  if (const std::string busiest = lines.busiest(); !busiest.empty()) d.note += (d.note.empty() ? "" : " ") + busiest;
  report::Drawing cables = beside > 0 ? draw_switches(t, leaves, heat.shades()) : report::Drawing();
  if (cables.shapes.empty()) {
    if (beside > 0) d.note += fmt::format("{} cables between switches of one row are not drawn.", beside / 2);
    return report::lay_out(d);
  }
  const std::string title = cables.title;
  report::Drawing out = stack(std::move(cables), report::lay_out(d));
  out.title = title;
  return out;
}

std::vector<report::Drawing> draw_loads(const topology::Topology& t, const LinkHeat& heat) {
  std::vector<report::Drawing> out;
  if (!t.fabric_switches().empty() || t.blocks().empty()) out.push_back(draw_fabric(t, heat));
  if (!t.blocks().empty()) out.push_back(draw_node(t, busiest_block(t, heat), heat));
  return out;
}

}  // namespace busbar::views
