#include "busbar/views/level_table.h"

#include "busbar/base/quantity.h"

namespace busbar::views {

report::Table level_table(const std::vector<topology::Level>& levels) {
  report::Table t{"Tiers that a byte crosses, per GPU and direction",
                  {report::to_left("level"), "wire (GB/s)", "payload (GB/s)", "narrower by", "latency (ns)",
                   report::to_left("counted")}};
  for (const topology::Level& l : levels) {
    if (l.from_above) continue;
    t.rows.push_back({l.name, format_number(l.wire_GBps), format_number(l.payload_GBps),
                      l.ratio >= 1  ? format_number(l.ratio)
                      : l.ratio > 0 ? format_number(1 / l.ratio) + " wider"
                                    : "-",
                      l.latency > Duration() ? format_number(l.latency.in_ns(), 4) : "-", l.note});
  }
  t.note =
      "1 GB/s = 1e9 bytes per second per direction; vendors often add both directions. Engines use payload, floors use "
      "wire. Latency is one way, hardware only.";
  return t;
}

}  // namespace busbar::views
