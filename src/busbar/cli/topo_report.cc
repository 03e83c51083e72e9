#include "busbar/cli/topo_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/report/document.h"
#include "busbar/report/plain.h"
#include "busbar/spec/cluster.h"
#include "busbar/step/machine.h"
#include "busbar/topology/cabling.h"
#include "busbar/topology/gpu_memory.h"
#include "busbar/topology/tiers.h"
#include "busbar/views/topology_drawing.h"

namespace busbar {
namespace {

std::string watts(double w) {
  return w < 1e4 ? fmt::format("{} W", format_number(w)) : fmt::format("{} kW", format_number(w / 1e3));
}
std::string metres(double m) {
  return m < 1e4 ? fmt::format("{} m", format_number(m)) : fmt::format("{} km", format_number(m / 1e3));
}

/// "2,048 cables, 31.2 km: ...; 1,024 transceivers; 26.6 kW", for the terminal.
std::string cabling_sentence(const Cluster& c, const CablingSums& s) {
  std::string media;
  for (int m = 0; m <= static_cast<int>(kLastMedium); ++m) {
    std::uint32_t cables = 0;
    for (std::size_t i = 0; i < s.parts.size(); ++i)
      if (c.cabling.parts[i].medium == static_cast<Medium>(m)) cables += s.parts[i].cables;
    if (cables > 0) append_word(media, fmt::format("{} {}", cables, name_of(static_cast<Medium>(m))));
  }
  std::string out = fmt::format("{} of {} in all: {}; {} transceivers; cables and optics draw {}", s.cables,
                                metres(s.length_m), media, s.transceivers, watts(s.power_w));
  const std::size_t switches = c.topology.fabric_switches().size();
  out += c.switches_power_w > 0 ? fmt::format(", {} switches {}", switches, watts(c.switches_power_w))
                                : fmt::format(", {} unknown for switches", switches);
  if (s.too_long > 0) out += fmt::format("; {} are too long for any of these parts", s.too_long);
  return out;
}

/// One row per part in use, then the switches, then the sum.
Table cabling_table(const Cluster& c, const CablingSums& s) {
  Table t{"Cables, optics and switches",
          {to_left("part"), to_left("medium"), "cables", "ends", "longest (m)", "reach (m)", "length (m)", "W per end",
           "W"}};
  for (std::size_t i = 0; i < s.parts.size(); ++i) {
    const CablePartSum& p = s.parts[i];
    if (p.ends == 0) continue;
    const CablePart& part = c.cabling.parts[i];
    t.rows.push_back({part.name, name_of(part.medium), std::to_string(p.cables), std::to_string(p.ends),
                      format_number(p.longest_m), format_number(part.reach_m), format_number(p.length_m, 4),
                      format_number(p.power_w / p.ends), format_number(p.power_w, 4)});
  }
  const std::size_t switches = c.topology.fabric_switches().size();
  const std::string part = switches == 0 ? "" : c.topology.device_class(c.topology.fabric_switches()[0]).part;
  const bool known = c.switches_power_w > 0;
  t.rows.push_back({fmt::format("{} x {}", switches, part.empty() ? "switch" : part), "", "", "", "", "", "", "",
                    known ? format_number(c.switches_power_w, 5) : "not known"});
  t.rows.push_back({"sum", "", std::to_string(s.cables), "", "", "", format_number(s.length_m, 4), "",
                    known ? format_number(s.power_w + c.switches_power_w, 5) : format_number(s.power_w, 5)});
  const CablingRules& r = c.cabling;
  t.note = fmt::format("Hall: {}, {} racks per row of {:g} m, rows {:g} m apart, {:g} m up to the tray. ",
                       r.racks_per_node > 1 ? fmt::format("{} racks per node", r.racks_per_node)
                                            : fmt::format("{} nodes per rack", r.nodes_per_rack),
                       r.racks_per_row, r.rack_m, r.row_m, r.riser_m);
  t.note +=
      "Each cable is the first part that is long enough; change this with 'hall:' and 'fabric.cable.parts'. Switches "
      "are counted without transceivers.";
  return t;
}

Json cabling_json(const Cluster& c, const CablingSums& s) {
  Json j{{"cables", s.cables},
         {"length_m", s.length_m},
         {"transceivers", s.transceivers},
         {"too_long", s.too_long},
         {"cables_power_w", s.power_w},
         {"switches", c.topology.fabric_switches().size()},
         {"switches_power_w", c.switches_power_w > 0 ? Json(c.switches_power_w) : Json(nullptr)},
         {"parts", Json::array()}};
  for (std::size_t i = 0; i < s.parts.size(); ++i) {
    const CablePartSum& p = s.parts[i];
    const CablePart& part = c.cabling.parts[i];
    j["parts"].push_back({{"name", part.name},
                          {"medium", name_of(part.medium)},
                          {"reach_m", part.reach_m},
                          {"cables", p.cables},
                          {"ends", p.ends},
                          {"length_m", p.length_m},
                          {"longest_m", p.longest_m},
                          {"power_w", p.power_w}});
  }
  return j;
}

double giga(BytesPerSecond r) { return static_cast<double>(per_second(r)) / 1e9; }

const char* plural_of(DeviceKind k) {
  constexpr const char* kNames[] = {
      "gpus",       "cpus",   "numa_nodes", "pcie_switches", "root_ports",       "nics",    "nvmes",
      "nvswitches", "leaves", "spines",     "cores",         "optical_switches", "switches"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(DeviceKind::kSwitch) + 1);
  return kNames[static_cast<std::size_t>(k)];
}

/// "cores"; tiers above as "tier_4_switches".
void add_core_counts(const Topology& t, std::vector<std::pair<std::string, std::uint32_t>>& out) {
  constexpr std::uint8_t kCoreTier = 3;
  std::map<std::uint8_t, std::uint32_t> counts;
  for (const std::uint8_t tier : switch_tiers(t))
    if (tier >= kCoreTier) ++counts[tier];
  for (const auto& [tier, n] : counts)
    out.emplace_back(tier == kCoreTier ? plural_of(DeviceKind::kCore) : fmt::format("tier_{}_switches", tier), n);
}

Json level_json(const Level& l) {
  Json j{{"name", l.name}, {"GBps_per_direction", l.wire_GBps}, {"payload_GBps", l.payload_GBps}};
  j["latency_ns"] = l.latency > Duration() ? Json(l.latency.in_ns()) : Json(nullptr);
  j["ratio"] = l.ratio > 0 ? Json(l.ratio) : Json(nullptr);
  j["counted"] = l.note;
  return j;
}

Json matrix_json(const RelationMatrix& m) {
  Json j{{"names", m.names}, {"cells", m.cells}, {"cpu_affinity", m.cpu_affinity}, {"numa_affinity", m.numa_affinity}};
  j["legend"] = Json::object();
  for (const auto& [word, meaning] : m.legend) j["legend"][word] = meaning;
  return j;
}

void add_graph(const Topology& t, Json& j) {
  Json& devices = j["devices"] = Json::array();
  for (std::uint32_t i = 0; i < t.device_count(); ++i) {
    const auto d = static_cast<DeviceId>(i);
    Json entry{{"name", t.name(d)}, {"kind", name_of(t.kind(d))}, {"part", t.device_class(d).part}};
    if (t.numa(d) >= 0) entry["numa"] = t.numa(d);
    if (count(t.device_class(d).memory) > 0) entry["memory_bytes"] = count(t.device_class(d).memory);
    devices.push_back(std::move(entry));
  }
  Json& links = j["links"] = Json::array();
  for (std::uint32_t i = 0; i < t.link_count(); i += 2) {
    const auto l = static_cast<LinkId>(i);
    const LinkClass& c = t.link_class(l);
    links.push_back({{"from", t.name(t.from(l))},
                     {"to", t.name(t.to(l))},
                     {"kind", name_of(c.kind)},
                     {"class", c.part},
                     {"lanes", c.lanes},
                     {"GBps_per_direction", giga(c.wire_rate)},
                     {"payload_GBps", giga(c.payload_rate())},
                     {"latency_ns", c.latency.in_ns()},
                     {"health", c.health}});
  }
}

std::string words_of(const std::string& key) {
  std::string out = key;
  std::replace(out.begin(), out.end(), '_', ' ');
  for (const auto& [from, to] : {std::pair("gpus", "GPUs"),
                                 {"nics", "NICs"},
                                 {"nvswitches", "NVSwitches"},
                                 {"cpus", "CPU sockets"},
                                 {"pcie", "PCIe"},
                                 {"numa", "NUMA"},
                                 {"nvmes", "NVMe drives"}})
    if (out.starts_with(from)) out.replace(0, std::string_view(from).size(), to);
  return out;
}

/// "70.6e9", "6.91e12".
std::string in_billions(double parameters) {
  return parameters < 1e12 ? format_number(parameters / 1e9) + " billion"
                           : format_number(parameters / 1e12) + " trillion";
}

/// "GPUs" as "GPU", "PCIe switches" as "PCIe switch", "leaves" as "leaf".
std::string singular_of(std::string words) {
  if (words == "leaves") return "leaf";
  words.resize(words.size() - (words.ends_with("witches") ? 2 : 1));
  return words;
}

std::string optical_sentence(const Cluster& c, const TopoFacts& f) {
  const std::uint32_t n = c.ocs.cube;
  return fmt::format(
      "{} circuit switches connect cubes of {}x{}x{} chips by {} fibres; to connect another shape, or a spare cube "
      "instead of a broken one, the switches take {} and the links {} to start again",
      c.ocs.switches, n, n, n, c.ocs.links(f.scale_up.gpus), format_duration(c.ocs.switching.in_s()),
      format_duration(c.ocs.initialisation.in_s()));
}

/// What a GPU reaches in its scale-up domain, and in the network if there is one; empty without such a domain.
std::string reach_in_words(const TopoFacts& f) {
  const auto level = [&f](const char* name) {
    return std::find_if(f.levels.begin(), f.levels.end(), [name](const Level& l) { return l.name == name; });
  };
  const auto inside = level("scale-up"), nic = level("nic");
  if (inside == f.levels.end() || f.scale_up.gpus < 2) return "";
  const std::string near = fmt::format("A GPU sends {} to the {} others of its scale-up domain",
                                       format_rate(inside->wire_GBps * 1e9), f.scale_up.gpus - 1);
  if (nic == f.levels.end() || nic->wire_GBps <= 0) return near + "; no network is described.";
  return fmt::format("{}, and {} to the network: {} times less.", near, format_rate(nic->wire_GBps * 1e9),
                     format_number(inside->wire_GBps / nic->wire_GBps, 2));
}

std::string oversubscription_words(const FabricSummary& f) {
  if (f.oversubscription_is_idle())
    return fmt::format("no over-subscription: one switch holds all NICs, so {:.3g}:1 has no effect",
                       f.oversubscription_asked);
  return f.oversubscription == 1 ? "no over-subscription"
                                 : fmt::format("leaves {:.3g}:1 over-subscribed", f.oversubscription);
}

Facts facts_of(const Cluster& c, const TopoFacts& f) {
  Facts out;
  std::string counts;
  for (const auto& [key, n] : f.counts)
    append_word(counts, fmt::format("{} {}", n, n == 1 ? singular_of(words_of(key)) : words_of(key)));
  out.items.emplace_back("counts", counts);
  if (!c.fabric.network.empty())
    out.items.emplace_back(
        "fabric", fmt::format("{}, {}, {}", c.fabric.network, c.fabric.kind, oversubscription_words(c.fabric)));
  if (f.bisection.GBps > 0)
    out.items.emplace_back(
        "bisection", fmt::format("{} in one direction, {} counting both ({}: {})", format_rate(f.bisection.GBps * 1e9),
                                 format_rate(2 * f.bisection.GBps * 1e9), f.bisection.kind, f.bisection.cut));
  for (auto& fact : sharing_facts(c.topology, f.ways)) out.items.push_back(std::move(fact));
  if (!c.p2p)
    out.items.emplace_back("peer access", "none over PCIe: GPUs without scale-up links copy through host memory");
  if (!c.gpudirect) out.items.emplace_back("GPUDirect", "none: NICs and drives copy through host memory");
  if (c.ocs.switches > 0) out.items.emplace_back("optical", optical_sentence(c, f));
  if (!f.cables.empty()) out.items.emplace_back("cables", cabling_sentence(c, f.cabling));
  if (count(f.memory) == 0) return out;
  out.items.emplace_back("memory", fmt::format("{} of {} in all", format_size(static_cast<double>(count(f.memory))),
                                               gpu_memory_kind(c.topology)));
  std::string domain = fmt::format("{} GPUs are connected by scale-up links: {} together", f.scale_up.gpus,
                                   format_size(static_cast<double>(count(f.scale_up.memory))));
  if (f.scale_up.ports_GBps > 0)
    domain += fmt::format("; all their ports {} per direction, {} counting both",
                          format_rate(f.scale_up.ports_GBps * 1e9), format_rate(2e9 * f.scale_up.ports_GBps));
  out.items.emplace_back(f.scale_up.gpus > 1 ? "one domain" : "one GPU",
                         f.scale_up.gpus > 1 ? domain : "no scale-up links");
  std::string models;
  for (const LargestModel& m : largest_models(f.scale_up))
    models += fmt::format("{}{} parameters {} ({:g} B each)", models.empty() ? "" : ", or ", in_billions(m.parameters),
                          m.what, m.bytes_per_parameter);
  out.items.emplace_back(f.scale_up.gpus > 1 ? "a domain holds" : "a GPU holds", models + "; activations not counted");
  return out;
}

Table tree_table(const Topology& t, const TopoParts& p) {
  Table out{fmt::format("Inside node{}", index(p.block)),
            {to_left("device"), to_left("part"), "NUMA", to_left("uplink"), "GB/s", to_left("outside the tree")}};
  for (const TreeLine& l : block_tree(t, p.block)) {
    const std::string name = t.name(l.device), numa = t.numa(l.device) < 0 ? "-" : std::to_string(t.numa(l.device));
    std::string indent;
    for (std::uint32_t i = 1; i < l.depth; ++i) indent += ".  ";
    if (l.depth > 0) indent += "+- ";
    const bool up = l.up != kNone<LinkId>;
    out.rows.push_back({indent + name.substr(name.find('.') + 1), t.device_class(l.device).part, numa,
                        up ? t.link_class(l.up).part : "",
                        up ? format_number(giga(t.link_class(l.up).floor_rate())) : "", l.extra});
  }
  out.note =
      "Uplink: the link to the device above, wire rate per direction. Outside the tree: all other links of a device.";
  return out;
}

Table matrix_table(const RelationMatrix& m, BlockId block) {
  Table out{fmt::format("How devices of node{} reach each other", index(block)), {to_left("")}};
  for (const std::string& name : m.names) out.columns.push_back(to_left(name));
  out.columns.push_back(to_left("CPU"));
  out.columns.push_back({"NUMA"});
  for (std::size_t i = 0; i < m.names.size(); ++i) {
    std::vector<std::string> row{m.names[i]};
    row.insert(row.end(), m.cells[i].begin(), m.cells[i].end());
    row.push_back(m.cpu_affinity[i]);
    row.push_back(m.numa_affinity[i]);
    out.rows.push_back(std::move(row));
  }
  for (const auto& [word, meaning] : m.legend) out.note += fmt::format("{} = {}. ", word, meaning);
  return out;
}

}  // namespace

TopoFacts topo_facts(const Cluster& c, BlockId node) {
  const Topology& t = c.topology;
  TopoFacts f;
  f.counts.emplace_back("nodes", static_cast<std::uint32_t>(t.blocks().size()));
  for (const auto& [kind, n] : device_counts(t)) {
    if (kind == DeviceKind::kCore)
      add_core_counts(t, f.counts);
    else
      f.counts.emplace_back(plural_of(kind), n);
  }
  f.counts.emplace_back("links", t.link_count() / 2);
  f.levels = machine_levels(t);
  f.bisection = bisect(t);
  f.memory = total_memory(t);
  f.scale_up = scale_up_domain(t);
  f.ways = shared_ways(t, node, f.levels, f.bisection, f.scale_up);
  if (c.cabling.parts.empty()) return f;
  f.cables = lay_cables(t, c.cabling);
  f.cabling = sum_of(t, f.cables, c.cabling);
  return f;
}

std::vector<LargestModel> largest_models(const ScaleUpDomain& domain) {
  const auto bytes = static_cast<double>(count(domain.memory));
  // Training: bf16 parameter 2, fp32 gradient 4, fp32 master copy and two Adam moments 12, once in the whole domain; no
  // memory is left for activations. workload/memory counts the gradient in fp32.
  return {{"as bf16 weights", 2, bytes / 2},
          {"as fp8 weights", 1, bytes},
          {"in training with Adam, mixed precision, fully sharded", 18, bytes / 18}};
}

Table level_table(const std::vector<Level>& levels) {
  Table t{"Tiers that a byte crosses, per GPU and direction",
          {to_left("level"), "wire (GB/s)", "payload (GB/s)", "narrower by", "latency (ns)", to_left("counted")}};
  for (const Level& l : levels) {
    if (l.from_above) continue;
    t.rows.push_back({l.name, format_number(l.wire_GBps), format_number(l.payload_GBps),
                      l.ratio >= 1  ? format_number(l.ratio)
                      : l.ratio > 0 ? format_number(1 / l.ratio) + " wider"
                                    : "-",
                      l.latency > Duration() ? format_number(l.latency.in_ns(), 4) : "-", l.note});
  }
  t.note =
      "1 GB/s = 1e9 bytes per second per direction; vendors often add both directions. Engines use payload, floors use "
      "wire. Latency is one way, hardware only.";
  return t;
}

Json topo_json(const Cluster& c, const TopoFacts& f, const TopoParts& p) {
  Json j{{"cluster", c.name}, {"counts", Json::object()}};
  for (const auto& [key, n] : f.counts) j["counts"][key] = n;
  j["levels"] = Json::array();
  for (const Level& l : f.levels) j["levels"].push_back(level_json(l));
  j["bisection_GBps"] = f.bisection.GBps;
  j["bisection_kind"] = f.bisection.kind;
  j["bisection_cut"] = f.bisection.cut;
  j["memory_bytes_total"] = count(f.memory);
  j["scale_up_domain"] = {{"gpus", f.scale_up.gpus},
                          {"memory_bytes", count(f.scale_up.memory)},
                          {"ports_GBps_per_direction", f.scale_up.ports_GBps}};
  j["scale_up_domain"]["largest_models"] = Json::array();
  for (const LargestModel& m : largest_models(f.scale_up))
    j["scale_up_domain"]["largest_models"].push_back(
        {{"what", m.what}, {"bytes_per_parameter", m.bytes_per_parameter}, {"parameters", m.parameters}});
  j["fabric"] = {{"kind", c.fabric.kind},
                 {"network", c.fabric.network},
                 {"oversubscription", c.fabric.oversubscription},
                 {"oversubscription_asked", c.fabric.oversubscription_asked}};
  add_sharing(c.topology, f.ways, j);
  j["p2p"] = c.p2p;
  j["gpudirect"] = c.gpudirect;
  j["optical_switches"] = nullptr;
  if (c.ocs.switches > 0)
    j["optical_switches"] = {{"switches", c.ocs.switches},
                             {"cube", c.ocs.cube},
                             {"links", c.ocs.links(f.scale_up.gpus)},
                             {"switching_s", c.ocs.switching.in_s()},
                             {"initialisation_s", c.ocs.initialisation.in_s()},
                             {"reconfiguration_s", c.ocs.reconfiguration().in_s()}};
  j["cabling"] = f.cables.empty() ? Json(nullptr) : cabling_json(c, f.cabling);
  if (p.all || p.matrix) j["matrix"] = matrix_json(relation_matrix(c.topology, p.block));
  if (p.all) add_graph(c.topology, j);
  return j;
}

Document topo_document(const Cluster& c, const TopoFacts& f, const TopoParts& p, const std::string& typed) {
  const Topology& t = c.topology;
  Document d{fmt::format("{}: {} {}", c.name, t.gpus().size(), gpus_in_words(t)), typed, {}};
  if (const std::string words = reach_in_words(f); !words.empty()) d.add(Highlight{words}, Audience::kPage);
  d.add(facts_of(c, f));
  if (p.levels || p.all) d.add(level_table(f.levels));
  if (!f.cables.empty()) d.add(cabling_table(c, f.cabling), p.all ? Audience::kBoth : Audience::kPage);
  if (p.tree || p.all) d.add(tree_table(t, p));
  if (p.matrix || p.all) d.add(matrix_table(relation_matrix(t, p.block), p.block), Audience::kPage);
  if (p.pictures) d.add(draw_node(t, p.block, {}), Audience::kPage);
  if (p.pictures && !t.fabric_switches().empty()) d.add(draw_fabric(t, {}), Audience::kPage);
  if (c.sources.empty()) return d;
  Table sources{"Figures and their sources", {to_left("figure")}};
  for (const std::string& s : c.sources) sources.rows.push_back({s});
  d.add(sources, Audience::kPage);
  return d;
}

std::string matrix_text(const Topology& t, const RelationMatrix& m) {
  std::string out;
  for (const std::string& name : m.names) out += "\t" + escape_terminal(name, true);
  out += "\tCPU Affinity\tNUMA Affinity\n";
  for (std::size_t i = 0; i < m.names.size(); ++i) {
    out += escape_terminal(m.names[i], true);
    for (const std::string& c : m.cells[i]) out += c == "X" ? "\t X " : "\t" + c;
    out += "\t" + m.cpu_affinity[i] + "\t" + m.numa_affinity[i] + "\n";
  }
  out += "\nLegend:\n\n";
  for (const auto& [word, meaning] : m.legend) out += fmt::format("  {:<4} = {}\n", word, meaning);
  std::string nics;
  for (std::size_t i = 0; i < m.names.size(); ++i) {
    if (t.kind(m.devices[i]) != DeviceKind::kNic) continue;
    const std::string name = t.name(m.devices[i]);
    nics += fmt::format("  {}: {}\n", m.names[i], escape_terminal(name.substr(name.find('.') + 1), true));
  }
  return nics.empty() ? out : out + "\nNIC Legend:\n\n" + nics;
}

}  // namespace busbar
