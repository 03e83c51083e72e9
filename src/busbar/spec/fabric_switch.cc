#include "busbar/spec/fabric_switch.h"

#include <fmt/core.h>

#include "busbar/spec/cabling_file.h"

namespace busbar {

Status read_switch(const YamlNode& map, Reading& reading, SwitchFigures& out) {
  MapReader r(map);
  accept_provenance(r);
  const std::string before = out.spec.part;
  r.optional("part", &YamlNode::as_string, out.spec.part);
  r.optional("latency", &YamlNode::as_duration, out.latency);
  r.optional("reduces", &YamlNode::as_bool, out.spec.reduces);
  r.optional("reduce_message", &YamlNode::as_size, out.spec.reduce_message);
  r.optional("reduce_rate", &YamlNode::as_rate, out.spec.reduce_rate);
  const auto trees = r.optional("reduce_trees");
  r.optional("frame", &YamlNode::as_size, out.frame);
  r.optional("port_rate", &YamlNode::as_rate, out.spec.port_rate);
  const auto product = r.optional("product");
  const auto ports = r.optional("ports"), splits = r.optional("splits"), forwarding = r.optional("forwarding");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (trees) {
    BUSBAR_ASSIGN(const std::int64_t n, trees->as_int(1, 1024));
    out.spec.reduce_trees = static_cast<std::uint32_t>(n);
  }
  if (splits) {
    BUSBAR_ASSIGN(const std::int64_t n, splits->as_int(1, 8));
    out.spec.splits = static_cast<std::uint32_t>(n);
  }
  if (forwarding) {
    BUSBAR_ASSIGN(const std::size_t way, as_one_of(*forwarding, {"cut-through", "store-and-forward"}, "forwarding"));
    out.store_and_forward = way == 1;
    if (out.store_and_forward && count(out.frame) == 0) {
      return forwarding->error("a store-and-forward switch needs 'frame', for example 'frame: 4KiB'");
    }
  }
  if (ports) {
    BUSBAR_ASSIGN(const std::int64_t n, ports->as_int(2, 1'000'000));
    out.spec.ports = static_cast<std::uint32_t>(n);
  }
  if (out.spec.part != before) out.power_w = 0;
  if (product) {
    BUSBAR_ASSIGN(out.power_w, read_switch_power(*product, reading));
  }
  reading.note(fmt::format("switch {}, {} ports", out.spec.part, out.spec.ports), map);
  return {};
}

}  // namespace busbar
