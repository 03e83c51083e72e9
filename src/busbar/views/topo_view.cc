// A machine, or this host without one.
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/questions/topo_question.h"
#include "busbar/report/plain.h"
#include "busbar/spec/cluster.h"
#include "busbar/step/machine.h"
#include "busbar/topology/cabling.h"
#include "busbar/topology/gpu_memory.h"
#include "busbar/topology/tree_view.h"
#include "busbar/views/level_table.h"
#include "busbar/views/network_words.h"
#include "busbar/views/pair_tables.h"
#include "busbar/views/topology_drawing.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::OutputFile;
using questions::TopoAnswer;
using questions::TopoHost;
using questions::TopoNic;
using questions::TopoRequest;
using questions::TopoResult;

std::string watts(double w) {
  return w < 1e4 ? fmt::format("{} W", format_number(w)) : fmt::format("{} kW", format_number(w / 1e3));
}
std::string metres(double m) {
  return m < 1e4 ? fmt::format("{} m", format_number(m)) : fmt::format("{} km", format_number(m / 1e3));
}

/// "2,048 cables, 31.2 km: ...; 1,024 transceivers; 26.6 kW", for the terminal.
std::string cabling_sentence(const spec::Cluster& c, const topology::CablingSums& s) {
  std::string media;
  for (int m = 0; m <= static_cast<int>(topology::kLastMedium); ++m) {
    std::uint32_t cables = 0;
    for (std::size_t i = 0; i < s.parts.size(); ++i)
      if (c.cabling.parts[i].medium == static_cast<topology::Medium>(m)) cables += s.parts[i].cables;
    if (cables > 0)
      append_word(media, fmt::format("{} {}", cables, topology::name_of(static_cast<topology::Medium>(m))));
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
report::Table cabling_table(const spec::Cluster& c, const topology::CablingSums& s) {
  report::Table t{"Cables, optics and switches",
                  {report::to_left("part"), report::to_left("medium"), "cables", "ends", "longest (m)", "reach (m)",
                   "length (m)", "W per end", "W"}};
  for (std::size_t i = 0; i < s.parts.size(); ++i) {
    const topology::CablePartSum& p = s.parts[i];
    if (p.ends == 0) continue;
    const topology::CablePart& part = c.cabling.parts[i];
    t.rows.push_back({part.name, topology::name_of(part.medium), std::to_string(p.cables), std::to_string(p.ends),
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
  const topology::CablingRules& r = c.cabling;
  t.note = fmt::format("Hall: {}, {} racks per row of {:g} m, rows {:g} m apart, {:g} m up to the tray. ",
                       r.racks_per_node > 1 ? fmt::format("{} racks per node", r.racks_per_node)
                                            : fmt::format("{} nodes per rack", r.nodes_per_rack),
                       r.racks_per_row, r.rack_m, r.row_m, r.riser_m);
  t.note +=
      "Each cable is the first part that is long enough; change this with 'hall:' and 'fabric.cable.parts'. Switches "
      "are counted without transceivers.";
  return t;
}

std::string words_of_count(const std::string& key) {
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

std::string number_of(std::size_t n, const char* one) { return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s"); }

/// "2 GPUs and 2 NICs", "4 GPUs".
std::string members(const topology::PcieRoot& r) {
  std::string out = r.gpus.empty() ? "" : number_of(r.gpus.size(), "GPU");
  if (!r.nics.empty()) out += (out.empty() ? "" : " and ") + number_of(r.nics.size(), "NIC");
  return out;
}

std::string listed(const topology::Topology& t, const topology::PcieRoot& r) {
  constexpr std::size_t kMostListed = 8;
  std::vector<topology::DeviceId> all = r.gpus;
  all.insert(all.end(), r.nics.begin(), r.nics.end());
  std::string out;
  for (std::size_t i = 0; i < std::min(all.size(), kMostListed); ++i)
    out += (out.empty() ? "" : " ") + questions::name_in_node(t, all[i]);
  return all.size() > kMostListed ? out + " ..." : out;
}

/// Roots with as many GPUs and NICs are counted together: "4 roots with 2 GPUs and 2 NICs each (gpu0 gpu1 ...)".
std::string roots_sentence(const topology::Topology& t, const std::vector<topology::PcieRoot>& roots) {
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
    out += fmt::format("{}{} shared by {}{} ({}: {})", out.empty() ? "" : "; ", number_of(alike, "root"),
                       members(roots[i]), alike > 1 ? " each" : "", questions::name_in_node(t, roots[i].top),
                       listed(t, roots[i]));
  }
  if (out.empty()) return "none is shared: each GPU and NIC has a link of its own to its CPU";
  const auto own = std::count_if(roots.begin(), roots.end(), [](const topology::PcieRoot& r) { return !r.shared(); });
  return own == 0 ? out : out + fmt::format("; {} alone", number_of(static_cast<std::size_t>(own), "device"));
}

std::string tiers_sentence(const std::vector<questions::TierRatio>& tiers) {
  std::string out;
  for (const questions::TierRatio& t : tiers)
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", t.tier,
                       t.non_blocking() ? "yes" : fmt::format("no, {}:1", format_number(t.ratio)));
  return out;
}

std::vector<std::pair<std::string, std::string>> sharing_facts(const topology::Topology& t,
                                                               const questions::SharedWays& w) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!w.nics.empty())
    out.emplace_back("GPUs per NIC", fmt::format("{:.3g} ({} and {} in a node)",
                                                 static_cast<double>(w.gpus) / static_cast<double>(w.nics.size()),
                                                 number_of(w.gpus, "GPU"), number_of(w.nics.size(), "NIC")));
  if (!w.roots.empty()) out.emplace_back("PCIe roots", roots_sentence(t, w.roots));
  if (!w.tiers.empty()) out.emplace_back("non-blocking", tiers_sentence(w.tiers));
  return out;
}

std::string optical_sentence(const spec::Cluster& c, const questions::TopoFacts& f) {
  const std::uint32_t n = c.ocs.cube;
  return fmt::format(
      "{} circuit switches connect cubes of {}x{}x{} chips by {} fibres; to connect another shape, or a spare cube "
      "instead of a broken one, the switches take {} and the links {} to start again",
      c.ocs.switches, n, n, n, c.ocs.links(f.scale_up.gpus), format_duration(c.ocs.switching.in_s()),
      format_duration(c.ocs.initialisation.in_s()));
}

/// What a GPU reaches in its scale-up domain, and in the network if there is one; empty without such a domain.
std::string reach_in_words(const questions::TopoFacts& f) {
  const auto level = [&f](const char* name) {
    return std::find_if(f.levels.begin(), f.levels.end(), [name](const topology::Level& l) { return l.name == name; });
  };
  const auto inside = level("scale-up"), nic = level("nic");
  if (inside == f.levels.end() || f.scale_up.gpus < 2) return "";
  const std::string near = fmt::format("A GPU sends {} to the {} others of its scale-up domain",
                                       format_rate(inside->wire_GBps * 1e9), f.scale_up.gpus - 1);
  if (nic == f.levels.end() || nic->wire_GBps <= 0) return near + "; no network is described.";
  return fmt::format("{}, and {} to the network: {} times less.", near, format_rate(nic->wire_GBps * 1e9),
                     format_number(inside->wire_GBps / nic->wire_GBps, 2));
}

report::Facts facts_of(const spec::Cluster& c, const questions::TopoFacts& f) {
  report::Facts out;
  std::string counts;
  for (const auto& [key, n] : f.counts)
    append_word(counts, fmt::format("{} {}", n, n == 1 ? singular_of(words_of_count(key)) : words_of_count(key)));
  out.items.emplace_back("counts", counts);
  if (!c.fabric.network.empty())
    out.items.emplace_back("fabric",
                           fmt::format("{}, {}, {}", c.fabric.network, c.fabric.kind, oversubscription_words(c)));
  if (const std::string words = wiring_words(c.fabric); !words.empty()) out.items.emplace_back("wiring", words);
  if (const std::string words = starved_nic_words(c); !words.empty()) out.items.emplace_back("NICs", words);
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
                                               topology::gpu_memory_kind(c.topology)));
  std::string domain = fmt::format("{} GPUs are connected by scale-up links: {} together", f.scale_up.gpus,
                                   format_size(static_cast<double>(count(f.scale_up.memory))));
  if (f.scale_up.ports_GBps > 0)
    domain += fmt::format("; all their ports {} per direction, {} counting both",
                          format_rate(f.scale_up.ports_GBps * 1e9), format_rate(2e9 * f.scale_up.ports_GBps));
  out.items.emplace_back(f.scale_up.gpus > 1 ? "one domain" : "one GPU",
                         f.scale_up.gpus > 1 ? domain : "no scale-up links");
  std::string models;
  for (const questions::LargestModel& m : questions::largest_models(f.scale_up))
    models += fmt::format("{}{} parameters {} ({:g} B each)", models.empty() ? "" : ", or ", in_billions(m.parameters),
                          m.what, m.bytes_per_parameter);
  out.items.emplace_back(f.scale_up.gpus > 1 ? "a domain holds" : "a GPU holds", models + "; activations not counted");
  return out;
}

report::Table tree_table(const topology::Topology& t, topology::BlockId block) {
  report::Table out{fmt::format("Inside node{}", index(block)),
                    {report::to_left("device"), report::to_left("part"), "NUMA", report::to_left("uplink"), "GB/s",
                     report::to_left("outside the tree")}};
  for (const topology::TreeLine& l : topology::block_tree(t, block)) {
    const std::string name = t.name(l.device), numa = t.numa(l.device) < 0 ? "-" : std::to_string(t.numa(l.device));
    std::string indent;
    for (std::uint32_t i = 1; i < l.depth; ++i) indent += ".  ";
    if (l.depth > 0) indent += "+- ";
    const bool up = l.up != kNone<topology::LinkId>;
    out.rows.push_back({indent + name.substr(name.find('.') + 1), t.device_class(l.device).part, numa,
                        up ? t.link_class(l.up).part : "",
                        up ? format_number(static_cast<double>(per_second(t.link_class(l.up).floor_rate())) / 1e9) : "",
                        l.extra});
  }
  out.note =
      "Uplink: the link to the device above, wire rate per direction. Outside the tree: all other links of a device.";
  return out;
}

report::Table matrix_table(const topology::RelationMatrix& m, topology::BlockId block) {
  report::Table out{fmt::format("How devices of node{} reach each other", index(block)), {report::to_left("")}};
  for (const std::string& name : m.names) out.columns.push_back(report::to_left(name));
  out.columns.push_back(report::to_left("CPU"));
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

report::Document host_document(const TopoHost& r) {
  report::Document d{"This host", {}, {}};
  d.add(report::Highlight{"This host has no GPU of NVIDIA or AMD that Linux shows."});
  report::Table t{"Network devices",
                  {report::to_left("device"), "rate", report::to_left("state"), report::to_left("layer"),
                   report::to_left("RDMA"), "NUMA node", report::to_left("PCI")}};
  for (const TopoNic& n : r.nics)
    t.rows.push_back({n.name, n.rate_bytes_per_s ? format_rate(*n.rate_bytes_per_s) : "unknown", n.state, n.layer,
                      n.rdma ? "yes" : "no", n.numa_node ? std::to_string(*n.numa_node) : "unknown", n.pci});
  d.add(report::Facts{"", {{"NUMA nodes", r.numa_nodes_online.value_or("unknown")}}});
  if (t.rows.empty())
    d.add(report::Paragraph{"It has no network device with hardware of its own."});
  else
    d.add(std::move(t));
  d.add(
      report::Paragraph{"`busbar doctor --live` judges it; `busbar topo dgx-h100` shows a machine of the catalogue."});
  return d;
}

constexpr std::uint32_t kMostInMatrix = 72;  ///< GPUs of a domain whose pairs a page shows

void add_pictures(const TopoResult& r, report::Document& d) {
  const topology::Topology& t = r.machine->topology;
  if (!t.fabric_switches().empty()) d.add(draw_fabric(t, {}), report::Audience::kPage);
  d.add(draw_node(t, r.block, {}), report::Audience::kPage);
}

void add_pair_picture(const TopoResult& r, report::Document& d) {
  if (r.facts.scale_up.gpus > kMostInMatrix && !r.pairs) return;
  const Result<questions::PairFigures> pairs = r.pairs ? *r.pairs : questions::pair_figures(*r.machine, r.block);
  if (pairs.ok())
    d.add(
        draw_pairs("Bandwidth of each pair of GPUs alone, one direction, payload (GB/s)", *pairs, pairs->payload_GBps),
        report::Audience::kPage);
}

report::Document machine_document(const TopoRequest& q, const TopoResult& r, Extent extent) {
  const spec::Cluster& c = *r.machine;
  const topology::Topology& t = c.topology;
  const bool levels = q.all || q.levels || !(q.matrix || q.tree || q.bandwidth || q.latency || q.hops);
  report::Document d{fmt::format("{}: {} {}", c.name, t.gpus().size(), step::gpus_in_words(t)), {}, {}};
  if (const std::string words = reach_in_words(r.facts); !words.empty())
    d.add(report::Highlight{words}, report::Audience::kPage);
  if (extent == Extent::kPage) add_pictures(r, d);
  d.add(facts_of(c, r.facts));
  if (levels) d.add(level_table(r.facts.levels));
  if (!r.facts.cables.empty())
    d.add(cabling_table(c, r.facts.cabling), q.all ? report::Audience::kBoth : report::Audience::kPage);
  if (q.tree || q.all) d.add(tree_table(t, r.block));
  if (q.matrix || q.all) d.add(matrix_table(topology::relation_matrix(t, r.block), r.block), report::Audience::kPage);
  if (extent == Extent::kPage) add_pair_picture(r, d);
  if (c.sources.empty()) return d;
  report::Table sources{"Figures and their sources", {report::to_left("figure")}};
  for (const std::string& s : c.sources) sources.rows.push_back({s});
  d.add(sources, report::Audience::kPage);
  return d;
}

report::Document topo_document(const TopoRequest& q, const TopoAnswer& a, Extent extent) {
  const auto* const host = std::get_if<TopoHost>(&a);
  return host != nullptr ? host_document(*host) : machine_document(q, std::get<TopoResult>(a), extent);
}

/// The matrix in the form of `nvidia-smi topo -m`: tabs between cells, then the legends.
std::string matrix_text(const topology::Topology& t, const topology::RelationMatrix& m) {
  std::string out;
  for (const std::string& name : m.names) out += "\t" + report::escape_terminal(name, true);
  out += "\tCPU Affinity\tNUMA Affinity\n";
  for (std::size_t i = 0; i < m.names.size(); ++i) {
    out += report::escape_terminal(m.names[i], true);
    for (const std::string& c : m.cells[i]) out += c == "X" ? "\t X " : "\t" + c;
    out += "\t" + m.cpu_affinity[i] + "\t" + m.numa_affinity[i] + "\n";
  }
  out += "\nLegend:\n\n";
  for (const auto& [word, meaning] : m.legend) out += fmt::format("  {:<4} = {}\n", word, meaning);
  std::string nics;
  for (std::size_t i = 0; i < m.names.size(); ++i) {
    if (t.kind(m.devices[i]) != topology::DeviceKind::kNic) continue;
    const std::string name = t.name(m.devices[i]);
    nics += fmt::format("  {}: {}\n", m.names[i], report::escape_terminal(name.substr(name.find('.') + 1), true));
  }
  return nics.empty() ? out : out + "\nNIC Legend:\n\n" + nics;
}

std::string pair_texts(const TopoRequest& q, const questions::PairFigures& pairs, std::size_t columns) {
  std::string out;
  const auto add = [&](const char* title, const std::vector<std::vector<double>>& values) {
    out += pair_text(title, pairs, values, columns);
  };
  if (q.bandwidth) {
    add("Bandwidth of each pair alone, one direction, payload (GB/s)", pairs.payload_GBps);
    add("Bandwidth of each pair alone, both directions at the same time, their sum (GB/s)", pairs.both_GBps);
  }
  if (q.bandwidth && !pairs.staged_GBps.empty()) {
    add("The same with P2P off, through host memory, one direction (GB/s)", pairs.staged_GBps);
    add("With P2P off, both directions, their sum (GB/s)", pairs.staged_both_GBps);
  }
  if (q.latency) add("Latency of each pair, hardware alone (us)", pairs.latency_us);
  if (q.latency && !pairs.staged_latency_us.empty())
    add("Latency of a copy with P2P off, in two steps through host memory, with software (us)",
        pairs.staged_latency_us);
  return out;
}

std::string topo_tables(const TopoRequest& q, const TopoAnswer& a, int columns) {
  if (std::holds_alternative<TopoHost>(a)) return "";
  const TopoResult& r = std::get<TopoResult>(a);
  const auto wide = static_cast<std::size_t>(columns);
  std::string out = r.pairs ? pair_texts(q, *r.pairs, wide) : "";
  if (r.hops) out += hop_text(*r.hops, wide);
  const topology::Topology& t = r.machine->topology;
  if (q.matrix || q.all) out += "\n" + matrix_text(t, topology::relation_matrix(t, r.block));
  return out;
}

/// One picture: the network if there is one, unless a node is requested.
std::vector<OutputFile> topo_pictures(const TopoRequest& q, const TopoAnswer& a) {
  if (q.svg.empty()) return {};
  const TopoResult& r = std::get<TopoResult>(a);
  const topology::Topology& t = r.machine->topology;
  const bool inside = q.node.has_value() || t.fabric_switches().empty();
  return {{q.svg, report::render_svg(inside ? draw_node(t, r.block, {}) : draw_fabric(t, {}))}};
}

}  // namespace

View topo_view() {
  View out = make_view("topo", topo_document);
  out.add_text(topo_tables);
  out.add_files(topo_pictures);
  return out;
}

}  // namespace busbar::views
