#include "busbar/spec/cluster_writer.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/spec/cluster_document.h"
#include "busbar/spec/internal/key_help.h"
#include "busbar/spec/internal/node_base.h"
#include "busbar/spec/internal/node_file.h"
#include "busbar/spec/internal/yaml_text.h"
#include "busbar/topology/fabric.h"

namespace busbar::spec {
namespace {

constexpr std::size_t kLongestFlow = 90;  ///< longer maps are written as blocks

bool has_maps(const YamlNode& v) {
  for (std::size_t i = 0; i < v.size(); ++i)
    if (v.item(i).kind() == YamlNode::Kind::kMap) return true;
  return false;
}

std::string scalar_at(const YamlNode& map, std::string_view key) {
  const auto found = map.find(key);
  return found ? found->scalar() : std::string();
}

/// The main figures of a part and their source, for a comment; empty if the catalogue has no such part.
std::string figures_of(const Catalog& catalog, std::string_view folder, const std::string& name) {
  if (!catalog.has(folder, name)) return {};
  const auto file = catalog.load(folder, name);
  if (!file.ok()) return {};
  const YamlNode root = file->root();
  if (folder == "gpus")
    return fmt::format("{} at {}: {}", scalar_at(root, "memory"), scalar_at(root, "memory_rate"),
                       scalar_at(root, "source"));
  if (folder == "links") return fmt::format("{} per lane: {}", scalar_at(root, "rate"), scalar_at(root, "source"));
  if (folder != "networks") return scalar_at(root, "source");
  const auto link = root.find("link");
  return link ? fmt::format("{} per port: {}", scalar_at(*link, "rate"), scalar_at(*link, "source")) : std::string();
}

/// The text of a cluster file. Maps are blocks with a comment per key; entries of lists have a line each.
class ClusterText {
 public:
  /// `yours`: paths of keys that come from the user's answers.
  ClusterText(const Catalog& catalog, std::vector<std::string> yours) : catalog_(catalog), yours_(std::move(yours)) {}
  void comment(const std::string& line) { text_ += "# " + line + "\n"; }
  void entry(const std::string& key, const YamlNode& value, const std::string& parent = {}, std::size_t indent = 0) {
    const std::string path = parent.empty() ? key : parent + "." + key;
    const std::string head = yaml_scalar(key) + ":", about = about_of(path, key, value), flow = yaml_flow(value);
    const bool map = value.kind() == YamlNode::Kind::kMap, list = value.kind() == YamlNode::Kind::kSequence;
    if (map && (indent == 0 || flow.size() > kLongestFlow)) {
      text_ += yaml_line(indent, head, about);
      for (std::size_t i = 0; i < value.size(); ++i) entry(value.key(i), value.item(i), path, indent + 2);
    } else if (list && has_maps(value)) {
      text_ += yaml_line(indent, head, about);
      for (std::size_t i = 0; i < value.size(); ++i)
        text_ += yaml_line(indent + 2, "- " + yaml_flow(value.item(i)), parts_of(value.item(i)));
    } else {
      text_ += yaml_line(indent, head + " " + flow, about);
    }
  }
  /// The key `node`. Parameters have been put in; the default network is left out where the cluster has it.
  void board(const YamlNode& node, bool with_fabric) {
    text_ += yaml_line(0, "node:", help_of_key("node"));
    for (std::size_t i = 0; i < node.size(); ++i)
      if (const std::string key = node.key(i); key != "parameters" && (key != "fabric" || !with_fabric))
        entry(key, node.item(i), "node", 2);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string about_of(const std::string& path, const std::string& key, const YamlNode& value) const {
    std::string out(help_of_key(path));
    const auto add = [&](const std::string& more) {
      if (!more.empty()) out += (out.empty() ? "" : "; ") + more;
    };
    if (key == "network") add(figures_of(catalog_, "networks", value.scalar()));
    if (key == "base") add(figures_of(catalog_, "nodes", value.scalar()));
    if (std::find(yours_.begin(), yours_.end(), path) != yours_.end()) out = out.empty() ? "yours" : "yours: " + out;
    return out;
  }
  std::string parts_of(const YamlNode& item) const {
    const std::string link = figures_of(catalog_, "links", scalar_at(item, "link"));
    return link.empty() ? figures_of(catalog_, "gpus", scalar_at(item, "part")) : link;
  }

  const Catalog& catalog_;
  std::vector<std::string> yours_;
  std::string text_;
};

/// The cluster's own fabric, or the one that several of its nodes have by default; as a map where it is a preset.
Result<std::optional<YamlNode>> whole_fabric(const YamlNode& root, const YamlNode& node, Reading& reading) {
  std::int64_t nodes = 1;
  if (const auto number = root.find("nodes")) {
    BUSBAR_ASSIGN(nodes, number->as_int(1, kMaxNodes));
  }
  std::optional<YamlNode> fabric = root.find("fabric");
  if (!fabric && nodes > 1) fabric = node.find("fabric");
  if (!fabric || fabric->scalar() == "none") return fabric;
  BUSBAR_ASSIGN(YamlNode map, reading.resolve(*fabric, "fabrics"));
  return std::optional(std::move(map));
}

// A machine without a file.

/// The name without the number at its end, and whether it has one.
std::pair<std::string, std::optional<std::uint32_t>> split_number(const std::string& name) {
  std::size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  if (end == 0 || end == name.size() || name.size() - end > 6) return {name, std::nullopt};
  return {name.substr(0, end), static_cast<std::uint32_t>(std::stoul(name.substr(end)))};
}

/// Bytes per second as they read back exactly.
std::string exact_rate(BytesPerSecond rate) {
  const std::uint64_t n = per_second(rate);
  for (const auto& [unit, word] : {std::pair<std::uint64_t, const char*>{1'000'000'000, "GB/s"}, {1'000'000, "MB/s"}})
    if (n % unit == 0) return fmt::format("{}{}", n / unit, word);
  return fmt::format("{}B/s", n);
}

std::string exact_time(Duration time) {
  if (time.in_ps() % 1000 == 0) return fmt::format("{}ns", time.in_ps() / 1000);
  return fmt::format("{}ps", time.in_ps());
}

/// Devices first .. first+count-1 of the template as one entry.
std::string device_entry(const topology::NodeTemplate& node, std::size_t first, std::size_t number,
                         const std::string& name) {
  const topology::TemplateDevice& d = node.devices[first];
  const topology::DeviceClass& c = d.device_class;
  std::string out = "name: " + name;
  if (name != d.name) out += fmt::format(", count: {}", number);
  if (name != topology::name_of(c.kind)) out += fmt::format(", kind: {}", topology::name_of(c.kind));
  if (!c.part.empty()) out += ", part: " + yaml_scalar(c.part);
  if (c.part.empty() && count(c.memory) > 0) out += fmt::format(", memory: {}B", count(c.memory));
  if (c.part.empty() && per_second(c.memory_rate) > 0) out += ", memory_rate: " + exact_rate(c.memory_rate);
  if (per_second(c.transit_rate) > 0) out += ", transit_rate: " + exact_rate(c.transit_rate);
  if (per_second(c.reduce_rate) > 0) out += ", reduce_rate: " + exact_rate(c.reduce_rate);
  if (c.reduces) out += ", reduces: true";
  if (c.lower_level) out += ", lower_level: true";
  if (d.numa >= 0) {
    std::string numbers;
    for (std::size_t i = first; i < first + number; ++i)
      numbers += fmt::format("{}{}", i == first ? "" : ", ", node.devices[i].numa);
    out += number == 1 ? ", numa: " + numbers : ", numa: [" + numbers + "]";
  }
  return "{" + out + "}";
}

/// How many devices from `first` on are gpu0, gpu1, ...: alike but for their numbers and NUMA nodes.
std::size_t numbered_run(const topology::NodeTemplate& node, std::size_t first) {
  const auto [stem, number] = split_number(node.devices[first].name);
  if (number != 0u) return 0;
  std::size_t n = 0;
  while (first + n < node.devices.size()) {
    const topology::TemplateDevice& d = node.devices[first + n];
    const bool numa = (d.numa >= 0) == (node.devices[first].numa >= 0);
    if (d.name != fmt::format("{}{}", stem, n) || d.device_class != node.devices[first].device_class || !numa) break;
    ++n;
  }
  return n;
}

std::string link_entry(const topology::NodeTemplate& node, std::size_t first, std::size_t end) {
  const topology::LinkClass& c = node.links[first].link_class;
  std::string pairs;
  for (std::size_t i = first; i < end; ++i)
    pairs += fmt::format("{}[{}, {}]", i == first ? "" : ", ", node.devices[node.links[i].a].name,
                         node.devices[node.links[i].b].name);
  std::string out =
      fmt::format("pairs: [{}], kind: {}, rate: {}", pairs, topology::name_of(c.kind), exact_rate(c.wire_rate));
  if (c.lanes != 1) out += fmt::format(", lanes: {}", c.lanes);
  if (c.efficiency != 1) out += fmt::format(", efficiency: {}", c.efficiency);
  if (c.latency != Duration()) out += ", latency: " + exact_time(c.latency);
  if (!c.part.empty()) out += ", part: " + yaml_scalar(c.part);
  return "{" + out + "}";
}

std::string devices_text(const topology::NodeTemplate& node) {
  std::string out;
  for (std::size_t i = 0; i < node.devices.size();) {
    const std::size_t run = numbered_run(node, i), count = std::max<std::size_t>(1, run);
    const std::string name = run > 0 ? split_number(node.devices[i].name).first : node.devices[i].name;
    out += yaml_line(4, "- " + device_entry(node, i, count, name), "");
    i += count;
  }
  return out;
}

std::string links_text(const topology::NodeTemplate& node) {
  std::string out;
  for (std::size_t i = 0, end = 0; i < node.links.size(); i = end) {
    while (end < node.links.size() && node.links[end].link_class == node.links[i].link_class) ++end;
    out += yaml_line(4, "- " + link_entry(node, i, end), "");
  }
  return out;
}

// A new file.

bool is_fabric_kind(std::string_view word) {
  for (int i = 0; i <= static_cast<int>(topology::kLastFabricKind); ++i)
    if (word == topology::name_of(static_cast<topology::FabricKind>(i))) return true;
  return false;
}

Result<YamlNode> board_map(const std::string& name, Reading& reading) {
  BUSBAR_ASSIGN(const YamlDocument word, YamlDocument::parse(yaml_scalar(name), "board"));
  return resolve_node(word.root(), reading);
}

/// Adds the fabric and the answers about it to `document`; their paths to `yours`.
Status add_fabric(const NewCluster& wanted, const YamlNode& board, Reading& reading, YamlDocument& document,
                  std::vector<std::string>& yours) {
  const auto standard = board.find("fabric");
  const std::string preset = wanted.fabric.empty() || is_fabric_kind(wanted.fabric)
                                 ? (standard ? standard->scalar() : std::string("ndr-leaf-spine"))
                                 : wanted.fabric;
  BUSBAR_ASSIGN(const YamlNode map, reading.open("fabrics", preset));
  const auto set = [&](const std::string& key, const std::string& value) {
    yours.push_back("fabric." + key);
    return document.set("fabric." + key, yaml_scalar(value));
  };
  if (is_fabric_kind(wanted.fabric)) {
    const std::string text = fmt::format(
        "kind: {}\nnetwork: {}\noversubscription: 1\ncable_m: {{nic: 5, leaf: 20, core: 50}}\n"
        "cable_source: assumption, a row of racks and a hall of usual size\n",
        wanted.fabric, yaml_scalar(scalar_at(map, "network")));
    BUSBAR_ASSIGN(const YamlDocument own, YamlDocument::parse(text, "fabric"));
    BUSBAR_RETURN_IF_ERROR(document.replace("fabric", own.root()));
    yours.push_back("fabric.kind");
  } else {
    BUSBAR_RETURN_IF_ERROR(document.replace("fabric", map));
  }
  if (!wanted.network.empty()) {
    BUSBAR_ASSIGN(const YamlNode known, reading.open("networks", wanted.network));
    BUSBAR_RETURN_IF_ERROR(set("network", wanted.network));
  }
  if (wanted.ratio) BUSBAR_RETURN_IF_ERROR(set("oversubscription", fmt::format("{}", *wanted.ratio)));
  if (wanted.leaf) BUSBAR_RETURN_IF_ERROR(set("leaf_down", fmt::format("{}", *wanted.leaf)));
  return {};
}

std::string node_text(const NewCluster& wanted, std::vector<std::string>& yours) {
  std::string out = fmt::format("node:\n  base: {}\n", yaml_scalar(wanted.board));
  yours.push_back("node.base");
  for (const auto& [key, value] : {std::pair("gpus", wanted.gpus), std::pair("nics", wanted.nics)}) {
    if (!value) continue;
    out += fmt::format("  {}: {}\n", key, *value);
    yours.push_back(fmt::format("node.{}", key));
  }
  return out;
}

constexpr const char* kAbout = "A cluster file of Busbar (docs/formats/cluster.md)";

}  // namespace

Result<std::string> cluster_yaml(std::string_view name, const Overrides& overrides) {
  const Catalog catalog(overrides.catalog);
  Reading reading(catalog);
  BUSBAR_ASSIGN(const YamlDocument document, cluster_document(name, overrides, reading));
  const YamlNode root = document.root();
  const auto named = root.find("node");
  if (!named) return root.error("the key 'node' is missing");
  BUSBAR_ASSIGN(const YamlNode node, resolve_node(*named, reading));
  BUSBAR_ASSIGN(const std::optional<YamlNode> fabric, whole_fabric(root, node, reading));
  ClusterText out(catalog, {});
  out.comment(
      fmt::format("{}, written from {}. Rates are per direction.", kAbout, name.front() == '{' ? "text" : name));
  for (std::size_t i = 0; i < root.size(); ++i)
    if (const std::string key = root.key(i); key != "node" && key != "fabric") out.entry(key, root.item(i));
  const auto flag = [&](const char* key, const std::string& value) -> Status {
    if (value.empty() || root.find(key)) return {};
    BUSBAR_ASSIGN(const YamlDocument word, YamlDocument::parse(yaml_scalar(value), key));
    out.entry(key, word.root());
    return {};
  };
  BUSBAR_RETURN_IF_ERROR(flag("gpu", overrides.gpu));
  BUSBAR_RETURN_IF_ERROR(flag("gpu_memory_rate", overrides.gpu_memory_rate));
  if (fabric) out.entry("fabric", *fabric);
  out.board(node, fabric.has_value());
  return out.take();
}

Result<std::string> topology_yaml(const Cluster& cluster) {
  const topology::Topology& t = cluster.topology;
  if (t.blocks().size() != 1 || !t.fabric_switches().empty())
    return unsupported(fmt::format("{} has {} servers or a network; only a single server is written as a file",
                                   cluster.name, t.blocks().size()));
  const topology::NodeTemplate& node = t.templates()[t.blocks()[0].template_index];
  std::string out =
      yaml_line(0, fmt::format("# {}, written from {}. Rates are per direction.", kAbout, cluster.name), "");
  const auto key = [&](std::size_t indent, const std::string& path, const std::string& value) {
    const std::string word = path.substr(path.rfind('.') + 1);
    out += yaml_line(indent, word + ":" + (value.empty() ? "" : " ") + value, help_of_key(path));
  };
  key(0, "name", yaml_scalar(cluster.name));
  key(0, "nodes", "1");
  key(0, "node", "");
  key(2, "node.name", yaml_scalar(node.name));
  if (!cluster.gpudirect) key(2, "node.gpudirect", "false");
  if (!cluster.p2p) key(2, "node.p2p", "false");
  key(2, "node.devices", "");
  out += devices_text(node);
  key(2, "node.links", "");
  return out + links_text(node);
}

Result<std::string> new_cluster_yaml(const NewCluster& wanted, const Catalog& catalog) {
  Reading reading(catalog);
  BUSBAR_ASSIGN(const YamlNode board, board_map(wanted.board, reading));
  std::vector<std::string> yours{"name", "nodes"};
  const std::string text =
      fmt::format("name: {}\nnodes: {}\n{}", yaml_scalar(wanted.name), wanted.servers, node_text(wanted, yours));
  BUSBAR_ASSIGN(YamlDocument document, YamlDocument::parse(text, "new cluster"));
  const bool asked = !wanted.fabric.empty() || !wanted.network.empty() || wanted.leaf || wanted.ratio;
  if (wanted.servers > 1 || asked) BUSBAR_RETURN_IF_ERROR(add_fabric(wanted, board, reading, document, yours));
  ClusterText out(catalog, std::move(yours));
  out.comment(fmt::format("{}, from your answers. Rates are per direction.", kAbout));
  for (std::size_t i = 0; i < document.root().size(); ++i) out.entry(document.root().key(i), document.root().item(i));
  return out.take();
}

Result<std::vector<Board>> boards_with(std::string_view gpu, const Catalog& catalog) {
  std::vector<Board> out;
  for (const std::string& name : catalog.names("nodes")) {
    Reading reading(catalog);
    BUSBAR_ASSIGN(const YamlNode map, board_map(name, reading));
    BUSBAR_ASSIGN(const NodeFile node, read_node(map, reading));
    if (!gpu.empty() && node.gpu_part != gpu) continue;
    out.push_back({name, node.gpu_part, node.gpus, static_cast<std::uint32_t>(node.nics.size())});
  }
  return out;
}

}  // namespace busbar::spec
