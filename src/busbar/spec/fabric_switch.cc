#include "busbar/spec/internal/fabric_switch.h"

#include <fmt/core.h>

#include "busbar/spec/internal/cabling_file.h"

namespace busbar::spec {

Status read_switch(const YamlNode& map, Reading& reading, SwitchFigures& out) {
  MapReader r = sourced(map);
  const std::string before = out.spec.part;
  r.optional("part", &YamlNode::as_string, out.spec.part);
  r.optional("latency", &YamlNode::as_duration, out.latency);
  r.optional("reduces", &YamlNode::as_bool, out.spec.reduces);
  r.optional("reduce_message", &YamlNode::as_size, out.spec.reduce_message);
  r.optional("reduce_rate", &YamlNode::as_rate, out.spec.reduce_rate);
  r.optional("reduce_trees", &YamlNode::as_int, out.spec.reduce_trees, 1, 1024);
  r.optional("frame", &YamlNode::as_size, out.frame);
  r.optional("port_rate", &YamlNode::as_rate, out.spec.port_rate);
  r.optional("splits", &YamlNode::as_int, out.spec.splits, 1, 8);
  r.optional("ports", &YamlNode::as_int, out.spec.ports, 2, 1'000'000);
  const auto product = r.optional("product"), forwarding = r.optional("forwarding");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (forwarding) {
    BUSBAR_ASSIGN(const std::size_t way, as_one_of(*forwarding, {"cut-through", "store-and-forward"}, "forwarding"));
    out.store_and_forward = way == 1;
    if (out.store_and_forward && count(out.frame) == 0) {
      return forwarding->error("a store-and-forward switch needs 'frame', for example 'frame: 4KiB'");
    }
  }
  if (out.spec.part != before) out.power_w = 0;
  if (product) {
    BUSBAR_ASSIGN(out.power_w, read_switch_power(*product, reading));
  }
  reading.note(fmt::format("switch {}, {} ports", out.spec.part, out.spec.ports), map);
  return {};
}

}  // namespace busbar::spec
