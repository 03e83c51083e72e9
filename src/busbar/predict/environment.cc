#include "busbar/predict/environment.h"

#include <algorithm>

#include "busbar/choice/as_nccl.h"
#include "busbar/nccl/environment.h"
#include "busbar/spec/protocol_file.h"

namespace busbar::predict {
namespace {

/// The class of the first NIC's cable; null without a network.
const topology::LinkClass* port_class(const topology::Topology& t) {
  for (std::uint32_t d = 0; d < t.device_count(); ++d)
    if (const auto nic = static_cast<topology::DeviceId>(d); t.kind(nic) == topology::DeviceKind::kNic)
      for (const topology::LinkId l : t.out_links(nic))
        if (topology::is_fabric(t.link_class(l).kind)) return &t.link_class(l);
  return nullptr;
}

/// The share of a port's wire rate that TCP reaches, from the fastest port in the catalogue that is not faster.
Result<double> tcp_efficiency(const spec::Catalog& catalog, BytesPerSecond port) {
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

Status use_sockets(spec::Cluster& c) {
  const topology::LinkClass* port = port_class(c.topology);
  if (port == nullptr || port->kind == topology::LinkKind::kIdeal) return {};
  const spec::Catalog catalog;
  spec::Reading reading(catalog);
  BUSBAR_ASSIGN(const YamlNode map, reading.open("transports", "tcp"));
  BUSBAR_ASSIGN(const spec::Transport tcp, spec::read_transport(map, reading));
  BUSBAR_ASSIGN(const double efficiency, tcp_efficiency(catalog, port->wire_rate));
  c.protocol.step_network = tcp.costs.step_network;
  c.protocol.ll128.step_network = tcp.costs.ll128.step_network;
  c.protocol.ll.step_network = tcp.costs.ll.step_network;
  c.protocol.messages = tcp.costs.messages;
  c.protocol.share_network = std::min(1.0, tcp.costs.share_network * efficiency / port->efficiency);
  c.gpudirect = c.protocol.gpudirect = false;
  return {};
}

/// Whether some GPU of the first server has an end of that kind no farther than `level`. `scale_up`: count paths over
/// scale-up links, or all others.
template <typename IsEnd, typename Counts>
bool any_within(const topology::Topology& t, topology::PathType level, const IsEnd& is_end, const Counts& counts) {
  if (t.gpus().empty()) return false;
  const topology::Block& block = t.blocks()[index(t.block_of(t.gpus().front()))];
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto from = static_cast<topology::DeviceId>(block.first_device + p);
    if (t.kind(from) != topology::DeviceKind::kGpu) continue;
    const topology::BlockPaths paths(t, from, topology::GpuRelay::kYes);
    for (std::uint32_t q = 0; q < block.device_count; ++q) {
      const auto to = static_cast<topology::DeviceId>(block.first_device + q);
      if (to != from && is_end(t.kind(to)) && counts(paths.type(to)) && paths.type(to) <= level) return true;
    }
  }
  return false;
}

void limit_paths(const nccl::NcclSettings& s, spec::Cluster& c) {
  const auto is_nic = [](topology::DeviceKind k) { return k == topology::DeviceKind::kNic; };
  const auto is_gpu = [](topology::DeviceKind k) { return k == topology::DeviceKind::kGpu; };
  const auto scales_up = [](topology::PathType t) {
    return t == topology::PathType::kNvl || t == topology::PathType::kNvb;
  };
  if (s.gdr_level && !any_within(c.topology, *s.gdr_level, is_nic, [](topology::PathType) { return true; }))
    c.gpudirect = c.protocol.gpudirect = false;
  if (!s.p2p_level) return;
  if (!any_within(c.topology, *s.p2p_level, is_gpu, [&](topology::PathType t) { return !scales_up(t); }))
    c.p2p = c.protocol.peer_access = false;
  if (!any_within(c.topology, *s.p2p_level, is_gpu, scales_up)) c.protocol.scale_up_access = false;
}

}  // namespace

Result<nccl::NcclSettings> apply_nccl_environment(spec::Cluster& cluster, nccl::NcclVersion version,
                                                  std::span<const std::string> variables) {
  nccl::NcclSettings settings =
      choice::nccl_settings({cluster.fabric.kind, cluster.gpudirect, cluster.p2p, cluster.fabric.merges_nics}, version);
  for (const std::string& v : variables) BUSBAR_RETURN_IF_ERROR(nccl::parse_nccl_setting(v, settings));
  if (settings.sockets) BUSBAR_RETURN_IF_ERROR(use_sockets(cluster));
  limit_paths(settings, cluster);
  return settings;
}

}  // namespace busbar::predict
