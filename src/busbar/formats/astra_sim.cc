#include "busbar/formats/internal/astra_sim.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "busbar/base/text.h"
#include "busbar/base/yaml.h"
#include "busbar/formats/json_text.h"

namespace busbar::formats {
namespace {

constexpr std::int64_t kMostNpus = 4096;
constexpr std::size_t kMostAstraLinks = 1'000'000, kMostDimensions = 8;

Result<YamlNode> list_of(const YamlNode& root, std::string_view key, std::size_t entries) {
  const auto node = root.find(key);
  if (!node) return root.error(fmt::format("lacks '{}'", key));
  if (node->kind() != YamlNode::Kind::kSequence || node->size() == 0 || node->size() > kMostDimensions)
    return node->error(fmt::format("needs a list of 1 to {} dimensions", kMostDimensions));
  if (entries > 0 && node->size() != entries)
    return node->error(fmt::format("has {} dimensions, 'topology' has {}", node->size(), entries));
  return *node;
}

double rate_of(const AstraDimension& d) { return d.bandwidth * (1 << 30); }

/// One group of a dimension: `members` are indices of NPUs.
void join(const AstraDimension& d, const std::vector<std::uint32_t>& members, const std::string& name,
          topology::LinkKind kind, topology::NodeTemplate& node) {
  topology::LinkClass link;
  link.kind = kind;
  link.wire_rate = BytesPerSecond{static_cast<std::uint64_t>(std::llround(rate_of(d)))};
  link.latency = Duration::ps(std::llround(d.latency_ns * 1000));
  const auto n = static_cast<std::uint32_t>(members.size());
  if (d.block == AstraBlock::kSwitch) {
    topology::TemplateDevice hub;
    hub.device_class.kind = topology::DeviceKind::kNvSwitch;
    hub.name = name;
    const auto place = static_cast<std::uint32_t>(node.devices.size());
    node.devices.push_back(hub);
    for (const std::uint32_t m : members) node.links.push_back({m, place, link});
    return;
  }
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint32_t j = i + 1; j < n; ++j)
      if (d.block == AstraBlock::kFullyConnected || j == i + 1 || (i == 0 && j + 1 == n))
        node.links.push_back({members[i], members[j], link});
}

}  // namespace

bool looks_like_astra_network(std::string_view head) {
  return head.find("npus_count:") != head.npos && head.find("topology:") != head.npos;
}

Result<AstraNetwork> read_astra_network(std::string_view text, const std::string& name) {
  BUSBAR_ASSIGN(const YamlDocument document, YamlDocument::parse(std::string(text), name));
  const YamlNode root = document.root();
  if (root.kind() != YamlNode::Kind::kMap) return root.error("is not a network of ASTRA-sim");
  AstraNetwork out;
  for (std::size_t i = 0; i < root.size(); ++i)
    if (const std::string key = root.key(i);
        key != "topology" && key != "npus_count" && key != "bandwidth" && key != "latency")
      add_unknown(out.unknown, root.key_where(i).line, "key " + key);
  BUSBAR_ASSIGN(const YamlNode blocks, list_of(root, "topology", 0));
  BUSBAR_ASSIGN(const YamlNode npus, list_of(root, "npus_count", blocks.size()));
  BUSBAR_ASSIGN(const YamlNode bandwidth, list_of(root, "bandwidth", blocks.size()));
  BUSBAR_ASSIGN(const YamlNode latency, list_of(root, "latency", blocks.size()));
  std::int64_t all = 1;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    AstraDimension d;
    const std::string& kind = blocks.item(i).scalar();
    if (kind == "Ring")
      d.block = AstraBlock::kRing;
    else if (kind == "FullyConnected")
      d.block = AstraBlock::kFullyConnected;
    else if (kind == "Switch")
      d.block = AstraBlock::kSwitch;
    else
      return blocks.item(i).error(fmt::format("'{}' is not one of Ring, FullyConnected, Switch", kind));
    BUSBAR_ASSIGN(const std::int64_t n, npus.item(i).as_int(1, kMostNpus));
    all *= n;
    if (all > kMostNpus) return npus.error(fmt::format("more than {} NPUs", kMostNpus));
    d.npus = static_cast<std::uint32_t>(n);
    BUSBAR_ASSIGN(d.bandwidth, bandwidth.item(i).as_number(1e-3, 1e6));
    BUSBAR_ASSIGN(d.latency_ns, latency.item(i).as_number(0, 1e9));
    out.dimensions.push_back(d);
  }
  out.npus = static_cast<std::uint32_t>(all);
  return out;
}

Result<ImportedMachine> machine_of(const AstraNetwork& network) {
  topology::NodeTemplate node;
  node.name = "astra-sim";
  for (std::uint32_t i = 0; i < network.npus; ++i) {
    topology::TemplateDevice gpu;
    gpu.name = fmt::format("gpu{}", i);
    node.devices.push_back(gpu);
  }
  // NPUs that are linked directly relay messages for others. If there are switches too, a router next to each NPU
  // relays, with a link that carries all of the NPU's bandwidth.
  const bool switched = std::any_of(network.dimensions.begin(), network.dimensions.end(),
                                    [](const AstraDimension& d) { return d.block == AstraBlock::kSwitch; });
  const bool routers = switched && network.dimensions.size() > 1;
  topology::LinkClass own;
  own.kind = topology::LinkKind::kNvlink;
  double all = 0;
  for (const AstraDimension& d : network.dimensions)
    all += rate_of(d) * (d.block == AstraBlock::kFullyConnected ? d.npus - 1 : d.block == AstraBlock::kRing ? 2 : 1);
  own.wire_rate = BytesPerSecond{static_cast<std::uint64_t>(std::llround(all))};
  for (std::uint32_t i = 0; routers && i < network.npus; ++i) {
    topology::TemplateDevice router;
    router.device_class.kind = topology::DeviceKind::kNvSwitch;
    router.name = fmt::format("router{}", i);
    node.links.push_back({i, static_cast<std::uint32_t>(node.devices.size()), own});
    node.devices.push_back(router);
  }
  std::uint32_t stride = 1, switches = 0;
  for (const AstraDimension& d : network.dimensions) {
    const std::uint64_t each = d.block == AstraBlock::kFullyConnected ? d.npus - 1 : 2;
    if (node.links.size() + network.npus * each > kMostAstraLinks)
      return Error{ErrorCode::kUnsupported, fmt::format("more than {} links", kMostAstraLinks), {}};
    for (std::uint32_t first = 0; first < network.npus; ++first) {
      if (first / stride % d.npus != 0 || d.npus == 1) continue;
      std::vector<std::uint32_t> members;
      for (std::uint32_t i = 0; i < d.npus; ++i) members.push_back(first + i * stride + (routers ? network.npus : 0));
      join(d, members, fmt::format("nvswitch{}", switches),
           switched ? topology::LinkKind::kNvlink : topology::LinkKind::kIci, node);
      switches += d.block == AstraBlock::kSwitch;
    }
    stride *= d.npus;
  }
  ImportedMachine out;
  topology::TopologyBuilder b;
  out.devices.resize(node.devices.size());
  for (std::uint32_t i = 0; i < network.npus; ++i) out.devices[i].dev = out.devices[i].rank = static_cast<int>(i);
  b.add_block(b.add_template(std::move(node)));
  out.topology = std::move(b).seal();
  out.notes = {"bandwidth is per link and direction, and its GB are 2^30 bytes, as the analytical network takes it",
               "latency is paid on every link, so twice through a switch"};
  if (routers) out.notes.push_back("each NPU is a GPU and a router next to it, which relays for others");
  out.unknown = network.unknown;
  return out;
}

bool looks_like_astra_system(std::string_view head) {
  const std::size_t at = head.find_first_not_of(" \t\r\n");
  if (at == head.npos || head[at] != '{') return false;
  for (const char* key : {"\"scheduling-policy\"", "-implementation\"", "\"logical-dims\"", "\"memory-type\"",
                          "\"preferred-dataset-splits\""})
    if (head.find(key) != head.npos) return true;
  return false;
}

namespace {

constexpr std::array kSettings{"scheduling-policy",
                               "endpoint-delay",
                               "active-chunks-per-dimension",
                               "preferred-dataset-splits",
                               "collective-optimization",
                               "local-mem-bw",
                               "boost-mode",
                               "roofline-enabled",
                               "peak-perf",
                               "L",
                               "o",
                               "g",
                               "G",
                               "model-shared-bus",
                               "trace-enabled",
                               "replay-only",
                               "track-local-mem",
                               "memory-type",
                               "remote-mem-bw",
                               "remote-mem-latency"};

/// Our name for an algorithm of ASTRA-sim; unchanged if there is none.
std::string our_algorithm(std::string_view name) {
  if (name == "ring" || name == "oneRing") return "ring";
  if (name.starts_with("direct") || name == "oneDirect") return "direct";
  if (name == "doubleBinaryTree") return "tree";
  if (name == "halvingDoubling" || name == "oneHalvingDoubling") return "halving_doubling";
  return std::string(name.substr(0, 80));
}

Error in_file(const std::string& name, const std::string& key, std::string what) {
  return invalid(std::move(what), {name, 0, 0, key});
}

/// A number, as a JSON number or as a string of digits.
Result<std::uint32_t> count_of(const Json& v, const std::string& name, const std::string& key) {
  std::uint64_t n = 0;
  bool ok = v.is_natural();
  if (ok) n = v.natural();
  if (v.is_string()) ok = is_number(v.text(), n);
  if (!ok || n > UINT32_MAX) return in_file(name, key, fmt::format("'{}' is not a number", v.dump()));
  return static_cast<std::uint32_t>(n);
}

}  // namespace

Result<AstraSystem> read_astra_system(std::string_view text, const std::string& name) {
  BUSBAR_ASSIGN(const Json root, parse_json(text, name));
  if (!root.is_object()) return in_file(name, "", "is not a map of settings");
  AstraSystem out;
  for (const auto& [key, value] : root.members()) {
    constexpr std::string_view kSuffix = "-implementation", kCustom = "-implementation-custom";
    if (key.ends_with(kSuffix) || key.ends_with(kCustom)) {
      const bool custom = key.ends_with(kCustom);
      if (!value.is_array()) return in_file(name, key, "needs a list with one algorithm per dimension");
      std::vector<std::string> names;
      for (const Json& v : value.values()) {
        if (!v.is_string()) return in_file(name, key, fmt::format("'{}' is not a name", v.dump()));
        names.push_back(custom ? "traces " + v.text() : our_algorithm(v.text()));
      }
      std::string op = key.substr(0, key.size() - (custom ? kCustom : kSuffix).size());
      std::replace(op.begin(), op.end(), '-', '_');
      out.algorithms.emplace_back(op, names);
    } else if (key == "logical-dims") {
      if (!value.is_array()) return in_file(name, key, "needs a list");
      for (const Json& v : value.values()) {
        BUSBAR_ASSIGN(const std::uint32_t n, count_of(v, name, key));
        out.logical_dimensions.push_back(n);
      }
    } else if (std::find(kSettings.begin(), kSettings.end(), key) != kSettings.end() && !value.is_structured()) {
      out.settings.emplace_back(key, value.is_string() ? value.text() : value.dump());
    } else {
      add_unknown(out.unknown, 0, fmt::format("key {}", key.substr(0, 80)));
    }
  }
  return out;
}

}  // namespace busbar::formats
