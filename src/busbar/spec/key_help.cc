#include "busbar/spec/internal/key_help.h"

#include <algorithm>
#include <iterator>

namespace busbar::spec {
namespace {

struct KeyHelp {
  std::string_view path, help;
};

constexpr KeyHelp kHelp[] = {
    {"name", "for people"},
    {"nodes", "number of servers: node0, node1, ..."},
    {"more_nodes", "servers of other kinds on the same fabric, after those of `node`: [{node: dgx-a100, nodes: 4}]"},
    {"node", "one server: its devices and the links between them"},
    {"fabric", "the network between the servers"},
    {"routing", "static (one path per flow), spray, valiant or adaptive"},
    {"seed", "of every random choice"},
    {"protocol", "costs of the software: an entry of catalog/protocols, or its keys"},
    {"hall", "positions of racks, in metres"},
    {"price", "in US dollars"},
    {"packet", "settings of the packet engine"},
    {"faults", "links that are slower or missing"},
    {"gpu", "product of GPUs that the file does not name"},
    {"gpu_memory_rate", "bytes per second of the memory of every GPU"},
    {"calibrated", "factors from measurements"},
    {"measured", "tables of this machine, written by busbar calibrate: they correct the times of all collectives"},
    {"node.name", "of the board"},
    {"node.fabric", "network of several such servers, if the cluster names none"},
    {"node.devices", "a device each, or `count` of them with numbers: gpu0, gpu1, ..."},
    {"node.links", "between devices; '#' joins equal numbers, '*' all; rates are per direction"},
    {"node.gpudirect", "false: NICs do not reach GPU memory, and data are copied through host memory"},
    {"node.p2p", "false: GPUs do not reach each other over PCIe, and data are copied through host memory"},
    {"node.power", "in watts"},
    {"node.ocs", "optical switches that join cubes of chips"},
    {"fabric.kind", "single-switch, leaf-spine, fat-tree, rail-optimised, rail-only, dragonfly, torus or none"},
    {"fabric.network", "an entry of catalog/networks: rate, switch, NIC, cables"},
    {"fabric.oversubscription", "rate down / rate up of a leaf; 1: non-blocking"},
    {"fabric.leaf_down", "NIC ports per leaf"},
    {"fabric.parallel", "cables between a leaf and a spine"},
    {"fabric.tiers", "of switches"},
    {"fabric.uplink", "cables above the leaves, where they differ"},
    {"fabric.nic_order", "by-node: a server stays on one leaf; dealt: NIC after NIC, leaf after leaf"},
    {"fabric.planes", "copies of the fabric"},
    {"fabric.plane_order", "by-port: each NIC has a port on each plane; by-nic: NIC i is on plane i"},
    {"fabric.split", "parts of every port"},
    {"fabric.dims", "sizes of the torus in switches"},
    {"fabric.dragonfly", "groups and switches"},
    {"fabric.link", "of every cable, in place of the network's figures"},
    {"fabric.switch", "in place of the network's switch"},
    {"fabric.spine_switch", "a tier of other switches"},
    {"fabric.core_switch", "a tier of other switches"},
    {"fabric.nic", "in place of the network's NIC"},
    {"fabric.cable", "products, the shortest first"},
    {"cable_m", "length of cables by tier, in metres"},
    {"routing", "policy where the cluster names none"},
    {"usd_per_gpu_hour", "rent"},
    {"source", "where the figures come from"},
    {"confidence", "in these figures"},
    {"note", "for people"},
};

}  // namespace

std::string_view help_of_key(std::string_view path) {
  const auto at = [](std::string_view wanted) {
    return std::find_if(std::begin(kHelp), std::end(kHelp), [&](const KeyHelp& h) { return h.path == wanted; });
  };
  const auto* found = at(path);
  const std::size_t dot = path.rfind('.');
  if (found == std::end(kHelp) && dot != std::string_view::npos) found = at(path.substr(dot + 1));
  return found == std::end(kHelp) ? std::string_view() : found->help;
}

}  // namespace busbar::spec
