#include "busbar/spec/node_file.h"

#include "busbar/spec/node_devices.h"

namespace busbar {

Result<NodeFile> read_node(const YamlNode& map, Reading& reading) {
  NodeFile out;
  out.node.name = "node";
  MapReader r(map);
  accept_provenance(r);
  r.optional("name", &YamlNode::as_string, out.node.name);
  out.fabric = r.optional("fabric");
  out.protocol = r.optional("protocol");
  out.price = r.optional("price");
  const YamlNode devices = r.required("devices");
  const auto links = r.optional("links");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  BUSBAR_RETURN_IF_ERROR(read_devices(devices, reading, out));
  if (out.gpus == 0) return devices.error("there is no GPU among the devices; add {name: gpu, count: 8}");
  if (links) BUSBAR_RETURN_IF_ERROR(read_links(*links, reading, out));
  return out;
}

}  // namespace busbar
