#include "busbar/spec/cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/spec/calibrated.h"
#include "busbar/spec/catalog_entry.h"
#include "busbar/spec/cluster_document.h"
#include "busbar/spec/internal/cabling_file.h"
#include "busbar/spec/internal/fabric_file.h"
#include "busbar/spec/internal/node_base.h"
#include "busbar/spec/internal/node_file.h"
#include "busbar/spec/meant_keys.h"
#include "busbar/spec/measured_tables.h"
#include "busbar/spec/protocol_file.h"
#include "busbar/topology/cable_index.h"
#include "busbar/topology/connectivity.h"
#include "busbar/topology/seen_damage.h"

namespace busbar::spec {
namespace {

constexpr std::size_t kMaxClusterDevices = std::size_t{1} << 24;

/// One fault, from the file or the command line.
struct Fault {
  std::string selector;
  std::optional<double> factor;  ///< empty: failed
  Where where;
};

Status read_price(const YamlNode& map, Reading& reading, Cluster& out) {
  constexpr double kHighest = 1e6;
  MapReader r = sourced(map);
  r.required("usd_per_gpu_hour", &YamlNode::as_number, out.usd_per_gpu_hour, 0, kHighest);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (const auto source = map.find("source")) out.price_source = source->scalar();
  reading.note(fmt::format("price {} $ per GPU hour", out.usd_per_gpu_hour), map);
  return {};
}

/// {degrade: SELECTOR, factor: 0.5} or {fail: SELECTOR}.
Result<Fault> read_fault(const YamlNode& map) {
  Fault fault;
  fault.where = map.where();
  MapReader r(map);
  const auto degrade = r.optional("degrade"), fail = r.optional("fail"), factor = r.optional("factor");
  r.optional(degrade ? "degrade" : "fail", &YamlNode::as_string, fault.selector);
  r.optional("factor", &YamlNode::as_number, fault.factor, -1e9, 1e9);  // the range is the selector's to judge
  bool seen = false;
  r.optional("seen", &YamlNode::as_bool, seen);
  if (seen) fault.selector += topology::kSeen;
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (degrade.has_value() == fail.has_value()) {
    return map.error("a fault is {degrade: SELECTOR, factor: 0.5} or {fail: SELECTOR}");
  }
  if (degrade.has_value() != factor.has_value()) {
    return map.error(factor ? "'fail' takes no factor" : "'degrade' needs 'factor', for example 0.5");
  }
  if (seen && fail) return map.error("'fail' takes no 'seen': everyone sees a dead link");
  return fault;
}

Result<Fault> degrade_flag(const std::string& text) {
  Fault fault{{}, 0.0, Where{"", 0, 0, "--degrade"}};
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos)
    return invalid(fmt::format("'{}' has no '='; write SELECTOR=FACTOR", text), fault.where);
  fault.selector = text.substr(0, equals);
  std::string_view number = std::string_view(text).substr(equals + 1);
  if (number.ends_with(topology::kSeen)) {
    number.remove_suffix(topology::kSeen.size());
    fault.selector += topology::kSeen;
  }
  double factor = 0;
  if (!is_number(number, factor))
    return invalid(fmt::format("'{}' is not a number; write SELECTOR=0.5", number), fault.where);
  fault.factor = factor;
  return fault;
}

Result<std::vector<Fault>> collect_faults(const std::optional<YamlNode>& list, const Overrides& overrides) {
  std::vector<Fault> out;
  if (list && list->kind() != YamlNode::Kind::kSequence) return list->error("expected a list of faults");
  if (list) BUSBAR_RETURN_IF_ERROR(read_items(*list, &read_fault, out));
  for (const std::string& text : overrides.degrade) {
    BUSBAR_ASSIGN(Fault fault, degrade_flag(text));
    out.push_back(std::move(fault));
  }
  for (const std::string& text : overrides.fail) out.push_back({text, std::nullopt, Where{"", 0, 0, "--fail"}});
  return out;
}

Result<std::optional<BytesPerSecond>> memory_rate_flag(const Overrides& overrides, Reading& reading) {
  if (overrides.gpu_memory_rate.empty()) return std::optional<BytesPerSecond>();
  const Result<BytesPerSecond> rate = parse_rate(overrides.gpu_memory_rate);
  if (!rate.ok()) return invalid(rate.error().message, {"", 0, 0, "--gpu-memory-rate"});
  reading.sources.push_back(fmt::format("GPU memory rate {}: --gpu-memory-rate", overrides.gpu_memory_rate));
  return std::optional(*rate);
}

Status apply_faults(const std::vector<Fault>& faults, topology::TopologyBuilder& builder) {
  if (faults.empty()) return {};
  const topology::CableIndex cables(builder.peek());
  for (const Fault& fault : faults) {
    const Status done = fault.factor ? topology::degrade_cables(builder, cables, fault.selector, *fault.factor)
                                     : topology::fail_cables(builder, cables, fault.selector);
    if (done.ok()) continue;
    Error error = done.error();
    error.where = fault.where;
    return error;
  }
  return {};
}

/// The keys of a cluster file.
struct ClusterKeys {
  YamlNode node;
  std::optional<YamlNode> more_nodes, fabric, protocol, price, faults, routing, hall, calibrated, kernels, measured,
      gpu_memory_rate, packet;
  std::int64_t nodes = 1, seed = 0;
  std::string gpu;
};

Result<ClusterKeys> read_keys(const YamlNode& root, std::string& name) {
  BUSBAR_RETURN_IF_ERROR(check_cluster_keys(root));
  ClusterKeys keys;
  MapReader r = sourced(root);
  r.optional("name", &YamlNode::as_string, name);
  keys.node = r.required("node");
  r.optional("nodes", &YamlNode::as_int, keys.nodes, 1, kMaxNodes);
  r.optional("seed", &YamlNode::as_int, keys.seed, 0, INT64_MAX);
  keys.more_nodes = r.optional("more_nodes");
  keys.fabric = r.optional("fabric");
  keys.routing = r.optional("routing");
  keys.protocol = r.optional("protocol");
  keys.price = r.optional("price");
  keys.faults = r.optional("faults");
  keys.hall = r.optional("hall");
  keys.packet = r.optional("packet");
  keys.calibrated = r.optional("calibrated");
  keys.kernels = r.optional("kernels");
  keys.measured = r.optional("measured");
  r.optional("gpu", &YamlNode::as_string, keys.gpu);
  keys.gpu_memory_rate = r.optional("gpu_memory_rate");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  return keys;
}

/// Servers of one kind.
struct NodeKind {
  NodeFile node;
  std::uint32_t count = 1;
};

Result<NodeFile> read_node_at(const YamlNode& at, Reading& reading) {
  BUSBAR_ASSIGN(const YamlNode map, resolve_node(at, reading));
  auto read = read_node(map, reading);
  if (read.ok()) return read;
  // The error is in a catalogue file only because of the user's own file.
  const Where user = at.where(), where = read.error().where;
  if (where.file != user.file) read.error().message += fmt::format("; it is made at {}", user.prefix());
  return read.error();
}

/// {node: dgx-a100, nodes: 4}
Result<NodeKind> read_more_nodes(const YamlNode& map, Reading& reading) {
  MapReader r = sourced(map);
  const YamlNode node = r.required("node");
  std::int64_t nodes = 1;
  r.optional("nodes", &YamlNode::as_int, nodes, 1, kMaxNodes);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  NodeKind kind;
  BUSBAR_ASSIGN(kind.node, read_node_at(node, reading));
  kind.count = static_cast<std::uint32_t>(nodes);
  return kind;
}

/// Those of `node`, then those of `more_nodes`, in their order.
Result<std::vector<NodeKind>> read_kinds(const ClusterKeys& keys, Reading& reading) {
  std::vector<NodeKind> out(1);
  BUSBAR_ASSIGN(out[0].node, read_node_at(keys.node, reading));
  out[0].count = static_cast<std::uint32_t>(keys.nodes);
  if (!keys.more_nodes) return out;
  if (keys.more_nodes->kind() != YamlNode::Kind::kSequence)
    return keys.more_nodes->error("write a list, as in [{node: dgx-a100, nodes: 4}]");
  for (std::size_t i = 0; i < keys.more_nodes->size(); ++i) {
    BUSBAR_ASSIGN(NodeKind kind, read_more_nodes(keys.more_nodes->item(i), reading));
    out.push_back(std::move(kind));
  }
  return out;
}

/// The node's default applies only to clusters of several nodes.
std::optional<YamlNode> fabric_of(const ClusterKeys& keys, const NodeFile& node) {
  if (keys.fabric) return keys.fabric;
  return keys.nodes > 1 || keys.more_nodes ? node.fabric : std::nullopt;
}

/// For every GPU: the flag's, otherwise the file's; with `factors`, as in calibrate_parts().
Result<std::optional<BytesPerSecond>> memory_rate_of(const ClusterKeys& keys, const Overrides& overrides,
                                                     const CalibratedFactors& factors, Reading& reading) {
  BUSBAR_ASSIGN(std::optional<BytesPerSecond> rate, memory_rate_flag(overrides, reading));
  if (!rate && keys.gpu_memory_rate) {
    BUSBAR_ASSIGN(rate, keys.gpu_memory_rate->as_rate());
  }
  if (rate && factors.rate < 1)
    rate = BytesPerSecond{static_cast<std::uint64_t>(static_cast<double>(per_second(*rate)) * factors.rate)};
  return rate;
}

/// How NICs are spread over the leaves of a tree; empty: there is one switch, or another kind.
std::string wiring_of(const topology::FabricSpec& spec, const topology::FabricPlan& plan) {
  const bool tree = plan.kind == topology::FabricKind::kLeafSpine || plan.kind == topology::FabricKind::kFatTree;
  if (plan.leaves() < 2) return "";
  return plan.kind == topology::FabricKind::kRailOptimised ? "by-rail" : tree ? topology::name_of(spec.nic_order) : "";
}

FabricSummary summary_of(const FabricFile& file, const topology::FabricPlan& plan) {
  FabricSummary out;
  out.kind = topology::name_of(plan.kind);
  out.network = file.network;
  out.wiring = wiring_of(file.spec, plan);
  if (out.wiring == "by-node") out.formerly = file.formerly;
  out.oversubscription = plan.oversubscription;
  out.oversubscription_asked = file.spec.tier(0).oversubscription;
  for (const topology::TierPlan& tier : plan.tiers) out.switches.push_back(tier.switches);
  return out;
}

/// Creates the nodes and cables, then applies the faults.
Result<topology::Topology> build(const ClusterKeys& keys, std::vector<NodeKind>& kinds,
                                 const std::vector<Fault>& faults, const CalibratedFactors& factors,
                                 const Overrides& overrides, Reading& reading, const YamlNode& root, Cluster& out,
                                 std::optional<YamlNode>& transport) {
  const NodeFile& node = kinds[0].node;
  std::uint64_t nodes = 0, devices = 0, links = 0;
  for (const NodeKind& k : kinds) {
    nodes += k.count;
    devices += k.node.node.devices.size() * k.count;
    links += k.node.node.links.size() * k.count;
  }
  FabricFile fabric;
  const auto wanted = fabric_of(keys, node);
  if (wanted) {
    BUSBAR_ASSIGN(fabric, read_fabric(*wanted, reading));
    transport = fabric.transport;
    const topology::LinkKind cable = fabric.spec.nic_link.kind;
    if (!transport && fabric.spec.kind != topology::FabricKind::kNone && cable != topology::LinkKind::kIdeal) {
      BUSBAR_ASSIGN(transport,
                    reading.open("transports", cable == topology::LinkKind::kInfiniband ? "infiniband" : "roce"));
    }
  }
  if (fabric.spec.kind == topology::FabricKind::kNone && nodes > 1) {
    return root.error(fmt::format("{} nodes, but no fabric joins them; add 'fabric: ndr-rail' or another", nodes));
  }
  if (devices > kMaxClusterDevices || links > kMaxClusterDevices) {
    return root.error(fmt::format("{} nodes of {} devices and {} links are more than {} of either", nodes,
                                  node.node.devices.size(), node.node.links.size(), kMaxClusterDevices));
  }
  BUSBAR_ASSIGN(const auto memory_rate, memory_rate_of(keys, overrides, factors, reading));
  calibrate_parts(factors, kinds[0].node.node, fabric.spec);
  topology::FabricSpec once = fabric.spec;  // of the other kinds only the nodes are left to calibrate
  for (std::size_t i = 1; i < kinds.size(); ++i) calibrate_parts(factors, kinds[i].node.node, once);
  fabric.per_m = Duration::ps(std::llround(static_cast<double>(fabric.per_m.in_ps()) * factors.latency));
  topology::TopologyBuilder builder;
  Csr<topology::DeviceId> nics;
  for (NodeKind& k : kinds) {
    const std::uint32_t index = builder.add_template(std::move(k.node.node));
    for (std::uint32_t n = 0; n < k.count; ++n) {
      const topology::BlockId block = builder.add_block(index);
      for (const std::uint32_t place : k.node.nics) nics.values.push_back(builder.device(block, place));
      nics.close_row();
    }
  }
  auto plan = topology::build_fabric(fabric.spec, nics, builder);
  if (!plan.ok()) {
    plan.error().where = keys.fabric ? wanted->where() : keys.node.where();  // otherwise the user did not write it
    return plan.error();
  }
  out.cabling.parts = std::move(fabric.cable_parts);
  const bool placed = keys.hall && fabric.spec.kind != topology::FabricKind::kNone;
  if (placed || fabric.in_hall) topology::take_lengths(builder, out.cabling, fabric.per_m);
  bool known = true;
  for (std::size_t k = 0; k < plan->tiers.size(); ++k) {
    out.switches_power_w += plan->tiers[k].switches * fabric.power_w[k];
    known = known && fabric.power_w[k] > 0;
  }
  if (!known) out.switches_power_w = 0;
  out.routing = fabric.routing;
  out.gpudirect = node.gpudirect && fabric.gpudirect;
  out.fabric = summary_of(fabric, *plan);
  if (memory_rate) builder.set_gpu_memory_rate(*memory_rate);
  BUSBAR_RETURN_IF_ERROR(apply_faults(faults, builder));
  return std::move(builder).seal();
}

/// --nodes on a machine of another program, which is taken whole.
Status check_nodes(const Overrides& overrides, const topology::Topology& topology, const std::string& name) {
  const std::size_t has = std::max<std::size_t>(1, topology.blocks().size());
  const Where where{"", 0, 0, "--nodes"};
  if (overrides.nodes > has) return invalid(too_few(overrides.nodes, "nodes", name, has), where);
  if (overrides.nodes == 0 || overrides.nodes == has) return {};
  return invalid(fmt::format("{} was described by another program and has {} nodes, which stay together", name, has),
                 where);
}

/// --gpu applies only to GPUs that the file does not name.
Status check_gpu(const Overrides& overrides, const std::string& gpu_part, Reading& reading) {
  const Where where{"", 0, 0, "--gpu"};
  if (overrides.gpu.empty()) return {};
  if (gpu_part != overrides.gpu)
    return invalid(
        fmt::format("the GPUs of this machine are {} already; --gpu is for files that do not name them", gpu_part),
        where);
  reading.sources.push_back(fmt::format("GPUs are {}: --gpu", overrides.gpu));
  return {};
}

/// The file's protocol, or its node's, or that of its GPUs' generation.
Result<std::optional<YamlNode>> protocol_of(const ClusterKeys& keys, const NodeFile& node, Reading& reading) {
  if (keys.protocol) return keys.protocol;
  if (node.protocol || !reading.catalog.has("gpus", node.gpu_part)) return node.protocol;
  BUSBAR_ASSIGN(const YamlNode part, reading.open("gpus", node.gpu_part));
  return part.find("protocol");
}

/// All text that `inputs_hash` must cover.
std::string text_of(const Reading& reading, const Overrides& overrides) {
  std::string text = reading.text;
  for (const std::string& d : overrides.degrade) text += "--degrade " + d + "\n";
  for (const std::string& f : overrides.fail) text += "--fail " + f + "\n";
  if (!overrides.gpu.empty()) text += "--gpu " + overrides.gpu + "\n";
  if (!overrides.gpu_memory_rate.empty()) text += "--gpu-memory-rate " + overrides.gpu_memory_rate + "\n";
  return text;
}

Result<Cluster> read_cluster(const YamlNode& root, std::string name, const Overrides& overrides, Reading& reading) {
  Cluster out;
  out.name = std::move(name);
  BUSBAR_ASSIGN(const ClusterKeys keys, read_keys(root, out.name));
  if (reading.gpu.empty()) reading.gpu = keys.gpu;
  BUSBAR_ASSIGN(std::vector<NodeKind> kinds, read_kinds(keys, reading));
  const NodeFile& node = kinds[0].node;
  BUSBAR_ASSIGN(const std::vector<Fault> faults, collect_faults(keys.faults, overrides));
  BUSBAR_RETURN_IF_ERROR(check_gpu(overrides, node.gpu_part, reading));
  out.gpu_part = node.gpu_part;
  out.ocs = node.ocs;
  out.p2p = node.p2p;
  out.seed = static_cast<std::uint64_t>(keys.seed);
  if (const auto hall = keys.hall ? keys.hall : node.hall) BUSBAR_RETURN_IF_ERROR(read_hall(*hall, out.cabling));
  CalibratedFactors factors;
  if (keys.calibrated) {
    BUSBAR_ASSIGN(factors, read_calibrated(*keys.calibrated));
    reading.note("calibrated", *keys.calibrated);
  }
  std::optional<YamlNode> transport;
  BUSBAR_ASSIGN(out.topology, build(keys, kinds, faults, factors, overrides, reading, root, out, transport));
  if (keys.routing) {
    BUSBAR_ASSIGN(out.routing, as_routing_policy(*keys.routing));
  }
  BUSBAR_ASSIGN(const std::optional<YamlNode> protocol, protocol_of(keys, node, reading));
  out.ideal = !protocol;
  if (protocol) {
    BUSBAR_ASSIGN(const YamlNode map, reading.resolve(*protocol, "protocols"));
    Transport network;
    if (transport) {
      BUSBAR_ASSIGN(const YamlNode sends, reading.resolve(*transport, "transports"));
      BUSBAR_ASSIGN(network, read_transport(sends, reading));
    }
    out.fabric.merges_nics = network.merges_nics;
    BUSBAR_ASSIGN(out.protocol, read_protocol(map, reading, network.costs));
    calibrate_protocol(factors, out.protocol);
    out.protocol.peer_access = out.p2p;
    out.protocol.gpudirect = out.gpudirect;
  }
  if (keys.more_nodes)
    out.assumptions.push_back(
        "all servers have the rent and the software costs of the first kind, and the table of levels is of it");
  if (keys.kernels) {
    BUSBAR_ASSIGN(out.kernel_time, read_kernel_time(*keys.kernels));
    reading.note("kernels", *keys.kernels);
  }
  if (keys.measured) {
    BUSBAR_ASSIGN(const std::vector<MeasuredTable> tables, read_measured_tables(*keys.measured));
    for (const MeasuredTable& t : tables) reading.sources.push_back("measured: " + t.source);
    out.protocol.measured = as_calls(tables);
  }
  if (keys.packet) {
    BUSBAR_ASSIGN(out.packet, read_packet_lines(*keys.packet, reading.catalog, reading.text));
  }
  if (const auto price = keys.price ? keys.price : node.price) BUSBAR_RETURN_IF_ERROR(read_price(*price, reading, out));
  if (const Status connected = topology::check_connected(out.topology); !connected.ok()) {
    Error error = connected.error();
    error.where = root.where();
    error.where.line = error.where.column = 0;
    return error;
  }
  out.sources = std::move(reading.sources);
  out.text = text_of(reading, overrides);
  return out;
}

}  // namespace

Result<Cluster> load_cluster(std::string_view name, const Overrides& overrides) {
  const Catalog catalog(overrides.catalog);
  Reading reading(catalog);
  reading.gpu = overrides.gpu;
  BUSBAR_ASSIGN(const YamlDocument document, cluster_document(name, overrides, reading));
  return read_cluster(document.root(), std::string(name), overrides, reading);
}

Result<Cluster> parse_cluster(std::string text, const std::string& name, const Overrides& overrides) {
  const Catalog catalog(overrides.catalog);
  Reading reading(catalog);
  reading.gpu = overrides.gpu;
  BUSBAR_ASSIGN(const YamlDocument document,
                cluster_document(YamlDocument::parse(std::move(text), name), overrides, reading));
  return read_cluster(document.root(), name, overrides, reading);
}

Result<Cluster> adopt_topology(topology::Topology topology, std::string name, std::string text,
                               std::string_view protocol, const Overrides& overrides) {
  if (!overrides.set.empty())
    return invalid(fmt::format("{} has no keys to set; --degrade and --fail work on it", name), {"", 0, 0, "--set"});
  const Catalog catalog(overrides.catalog);
  Reading reading(catalog);
  reading.text = std::move(text);
  Cluster out;
  out.name = std::move(name);
  BUSBAR_RETURN_IF_ERROR(check_nodes(overrides, topology, out.name));
  BUSBAR_ASSIGN(const std::vector<Fault> faults, collect_faults(std::nullopt, overrides));
  topology::TopologyBuilder builder(std::move(topology));
  BUSBAR_ASSIGN(const auto memory_rate, memory_rate_flag(overrides, reading));
  if (memory_rate) builder.set_gpu_memory_rate(*memory_rate);
  BUSBAR_RETURN_IF_ERROR(apply_faults(faults, builder));
  out.topology = std::move(builder).seal();
  for (const topology::DeviceId gpu : out.topology.gpus())
    if (out.gpu_part.empty()) out.gpu_part = out.topology.device_class(gpu).part;
  out.ideal = protocol.empty();
  if (!out.ideal) {
    BUSBAR_ASSIGN(const YamlNode map, reading.open("protocols", protocol));
    BUSBAR_ASSIGN(out.protocol, read_protocol(map, reading));
  }
  if (const Status connected = topology::check_connected(out.topology); !connected.ok()) {
    Error error = connected.error();
    error.where = {out.name, 0, 0, ""};
    return error;
  }
  out.sources = std::move(reading.sources);
  out.text = text_of(reading, overrides);
  return out;
}

Error too_many_gpus(const char* flag, std::uint64_t asked, const Cluster& cluster, const Overrides& overrides) {
  const std::size_t has = cluster.topology.gpus().size();
  std::string message = too_few(asked, "GPUs", cluster.name, has);
  const std::string preset = cluster.name.substr(0, cluster.name.find(':'));
  const Catalog catalog(overrides.catalog);
  const std::uint64_t unit =
      std::max<std::uint64_t>(1, has / std::max<std::size_t>(1, cluster.topology.blocks().size()));
  if (catalog.has("nodes", preset)) {
    const std::uint64_t nodes = asked / unit + (asked % unit > 0 ? 1 : 0);
    message += fmt::format("; {}:{} has {}", preset, nodes, nodes * unit);
    const Result<CatalogEntry> entry = catalog_entry("nodes", preset, catalog);
    const bool sizes = entry.ok() && std::any_of(entry->parameters.begin(), entry->parameters.end(),
                                                 [](const Parameter& p) { return p.name == "gpus"; });
    if (sizes && cluster.topology.blocks().size() <= 1)
      message += fmt::format(" in {} servers, and --set node.gpus={} puts them into one", nodes, asked);
  }
  return invalid(std::move(message), {"", 0, 0, flag});
}

}  // namespace busbar::spec
