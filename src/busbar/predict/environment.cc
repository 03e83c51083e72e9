#include "busbar/predict/environment.h"

#include <algorithm>

#include "busbar/choice/as_nccl.h"
#include "busbar/nccl/environment.h"
#include "busbar/spec/protocol_file.h"

namespace busbar {
namespace {

/// The class of the first NIC's cable; null without a network.
const LinkClass* port_class(const Topology& t) {
  for (std::uint32_t d = 0; d < t.device_count(); ++d)
    if (const auto nic = static_cast<DeviceId>(d); t.kind(nic) == DeviceKind::kNic)
      for (const LinkId l : t.out_links(nic))
        if (is_fabric(t.link_class(l).kind)) return &t.link_class(l);
  return nullptr;
}

/// The share of a port's wire rate that TCP reaches, from the fastest port in the catalogue that is not faster.
Result<double> tcp_efficiency(const Catalog& catalog, BytesPerSecond port) {
  double rate = 0, out = 1;
  for (const std::string& name : catalog.names("networks")) {
    if (!name.starts_with("tcp-")) continue;
    BUSBAR_ASSIGN(const YamlDocument file, catalog.load("networks", name));
    const auto link = file.root().find("link");
    if (!link || !link->find("rate") || !link->find("efficiency")) continue;
    BUSBAR_ASSIGN(const BytesPerSecond here, link->find("rate")->as_rate());
    if (per_second(here) > per_second(port) || static_cast<double>(per_second(here)) < rate) continue;
    rate = static_cast<double>(per_second(here));
    BUSBAR_ASSIGN(out, link->find("efficiency")->as_number(0, 1));
  }
  return out;
}

Status use_sockets(Cluster& c) {
  const LinkClass* port = port_class(c.topology);
  if (port == nullptr || port->kind == LinkKind::kIdeal) return {};
  const Catalog catalog;
  Reading reading(catalog);
  BUSBAR_ASSIGN(const YamlNode map, reading.open("transports", "tcp"));
  BUSBAR_ASSIGN(const Transport tcp, read_transport(map, reading));
  BUSBAR_ASSIGN(const double efficiency, tcp_efficiency(catalog, port->wire_rate));
  c.protocol.step_network = tcp.costs.step_network;
  c.protocol.ll128.step_network = tcp.costs.ll128.step_network;
  c.protocol.ll.step_network = tcp.costs.ll.step_network;
  c.protocol.share_network = std::min(1.0, tcp.costs.share_network * efficiency / port->efficiency);
  c.gpudirect = c.protocol.gpudirect = false;
  return {};
}

/// Whether some GPU of the first server has an end of that kind no farther than `level`. `scale_up`: count paths over
/// scale-up links, or all others.
template <typename IsEnd, typename Counts>
bool any_within(const Topology& t, PathType level, const IsEnd& is_end, const Counts& counts) {
  if (t.gpus().empty()) return false;
  const Block& block = t.blocks()[index(t.block_of(t.gpus().front()))];
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto from = static_cast<DeviceId>(block.first_device + p);
    if (t.kind(from) != DeviceKind::kGpu) continue;
    const BlockPaths paths(t, from, GpuRelay::kYes);
    for (std::uint32_t q = 0; q < block.device_count; ++q) {
      const auto to = static_cast<DeviceId>(block.first_device + q);
      if (to != from && is_end(t.kind(to)) && counts(paths.type(to)) && paths.type(to) <= level) return true;
    }
  }
  return false;
}

void limit_paths(const NcclSettings& s, Cluster& c) {
  const auto is_nic = [](DeviceKind k) { return k == DeviceKind::kNic; };
  const auto is_gpu = [](DeviceKind k) { return k == DeviceKind::kGpu; };
  const auto scales_up = [](PathType t) { return t == PathType::kNvl || t == PathType::kNvb; };
  if (s.gdr_level && !any_within(c.topology, *s.gdr_level, is_nic, [](PathType) { return true; }))
    c.gpudirect = c.protocol.gpudirect = false;
  if (!s.p2p_level) return;
  if (!any_within(c.topology, *s.p2p_level, is_gpu, [&](PathType t) { return !scales_up(t); }))
    c.p2p = c.protocol.peer_access = false;
  if (!any_within(c.topology, *s.p2p_level, is_gpu, scales_up)) c.protocol.scale_up_access = false;
}

}  // namespace

Result<NcclSettings> apply_nccl_environment(Cluster& cluster, NcclVersion version,
                                            std::span<const std::string> variables) {
  NcclSettings settings =
      nccl_settings({cluster.fabric.kind, cluster.gpudirect, cluster.p2p, cluster.fabric.merges_nics}, version);
  for (const std::string& v : variables) BUSBAR_RETURN_IF_ERROR(parse_nccl_setting(v, settings));
  if (settings.sockets) BUSBAR_RETURN_IF_ERROR(use_sockets(cluster));
  limit_paths(settings, cluster);
  return settings;
}

}  // namespace busbar
