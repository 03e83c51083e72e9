#include "busbar/spec/internal/node_file.h"

#include <fmt/core.h>

#include "busbar/spec/internal/node_devices.h"
#include "busbar/spec/meant_keys.h"

namespace busbar::spec {
namespace {

/// Checks that no CPU or switch has more PCIe lanes in use than it has.
Status check_lanes(const YamlNode& links, const NodeFile& out) {
  for (const auto& [place, budget] : out.lane_budgets) {
    std::uint32_t used = 0;
    for (const topology::TemplateLink& l : out.node.links) {
      if (l.link_class.kind == topology::LinkKind::kPcie && (l.a == place || l.b == place)) used += l.link_class.lanes;
    }
    if (used <= budget) continue;
    return links.error(fmt::format(
        "{} has {} PCIe lanes, and the links use {} of it: {} slots of x16 fit; use fewer or narrower links, another "
        "CPU, or a PCIe switch",
        out.node.devices[place].name, budget, used, budget / 16));
  }
  return {};
}

Status read_optical(const YamlNode& map, OpticalSwitches& out) {
  MapReader r = sourced(map);
  r.required("switches", &YamlNode::as_int, out.switches, 1, 1 << 20);
  r.required("cube", &YamlNode::as_int, out.cube, 1, 1024);
  r.optional("cubes", &YamlNode::as_int, out.cubes, 1, 1 << 20);
  r.required("switching", &YamlNode::as_duration, out.switching);
  r.required("initialisation", &YamlNode::as_duration, out.initialisation);
  return r.finish();
}

}  // namespace

Result<NodeFile> read_node(const YamlNode& map, Reading& reading) {
  NodeFile out;
  out.node.name = "node";
  BUSBAR_RETURN_IF_ERROR(check_node_keys(map));
  MapReader r = sourced(map);
  r.optional("name", &YamlNode::as_string, out.node.name);
  out.fabric = r.optional("fabric");
  out.protocol = r.optional("protocol");
  out.price = r.optional("price");
  out.hall = r.optional("hall");
  const auto ocs = r.optional("ocs");
  r.optional("parameters");
  r.optional("aliases");
  r.optional("power");
  r.optional("gpudirect", &YamlNode::as_bool, out.gpudirect);
  r.optional("p2p", &YamlNode::as_bool, out.p2p);
  const YamlNode devices = r.required("devices");
  const auto links = r.optional("links");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (ocs) BUSBAR_RETURN_IF_ERROR(read_optical(*ocs, out.ocs));
  BUSBAR_RETURN_IF_ERROR(read_devices(devices, reading, out));
  if (out.gpus == 0) return devices.error("there is no GPU among the devices; add {name: gpu, count: 8}");
  if (links) {
    BUSBAR_RETURN_IF_ERROR(read_links(*links, reading, out));
    BUSBAR_RETURN_IF_ERROR(check_lanes(*links, out));
  }
  return out;
}

}  // namespace busbar::spec
