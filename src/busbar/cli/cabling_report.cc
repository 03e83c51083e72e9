#include "busbar/cli/cabling_report.h"

#include <fmt/core.h>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/base/text.h"

namespace busbar {
namespace {

std::string watts(double w) {
  return w < 1e4 ? fmt::format("{} W", format_number(w)) : fmt::format("{} kW", format_number(w / 1e3));
}
std::string metres(double m) {
  return m < 1e4 ? fmt::format("{} m", format_number(m)) : fmt::format("{} km", format_number(m / 1e3));
}

}  // namespace

std::string cabling_sentence(const Cluster& c, const CablingSums& s) {
  std::string media;
  for (int m = 0; m <= static_cast<int>(kLastMedium); ++m) {
    std::uint32_t cables = 0;
    for (std::size_t i = 0; i < s.parts.size(); ++i)
      if (c.cabling.parts[i].medium == static_cast<Medium>(m)) cables += s.parts[i].cables;
    if (cables > 0) append_word(media, fmt::format("{} {}", cables, name_of(static_cast<Medium>(m))));
  }
  std::string out = fmt::format("{} of {} in all: {}; {} transceivers; cables and optics draw {}", s.cables,
                                metres(s.length_m), media, s.transceivers, watts(s.power_w));
  const std::size_t switches = c.topology.fabric_switches().size();
  out += c.switches_power_w > 0 ? fmt::format(", {} switches {}", switches, watts(c.switches_power_w))
                                : fmt::format(", {} unknown for switches", switches);
  if (s.too_long > 0) out += fmt::format("; {} are too long for any of these parts", s.too_long);
  return out;
}

Table cabling_table(const Cluster& c, const CablingSums& s) {
  Table t{"Cables, optics and switches",
          {to_left("part"), to_left("medium"), "cables", "ends", "longest (m)", "reach (m)", "length (m)", "W per end",
           "W"}};
  for (std::size_t i = 0; i < s.parts.size(); ++i) {
    const CablePartSum& p = s.parts[i];
    if (p.ends == 0) continue;
    const CablePart& part = c.cabling.parts[i];
    t.rows.push_back({part.name, name_of(part.medium), std::to_string(p.cables), std::to_string(p.ends),
                      format_number(p.longest_m), format_number(part.reach_m), format_number(p.length_m, 4),
                      format_number(p.power_w / p.ends), format_number(p.power_w, 4)});
  }
  const std::size_t switches = c.topology.fabric_switches().size();
  const std::string part = switches == 0 ? "" : c.topology.device_class(c.topology.fabric_switches()[0]).part;
  const bool known = c.switches_power_w > 0;
  t.rows.push_back({fmt::format("{} x {}", switches, part.empty() ? "switch" : part), "", "", "", "", "", "", "",
                    known ? format_number(c.switches_power_w, 5) : "not known"});
  t.rows.push_back({"sum", "", std::to_string(s.cables), "", "", "", format_number(s.length_m, 4), "",
                    known ? format_number(s.power_w + c.switches_power_w, 5) : format_number(s.power_w, 5)});
  const CablingRules& r = c.cabling;
  t.note = fmt::format("Hall: {}, {} racks per row of {:g} m, rows {:g} m apart, {:g} m up to the tray. ",
                       r.racks_per_node > 1 ? fmt::format("{} racks per node", r.racks_per_node)
                                            : fmt::format("{} nodes per rack", r.nodes_per_rack),
                       r.racks_per_row, r.rack_m, r.row_m, r.riser_m);
  t.note +=
      "Each cable is the first part that is long enough; change this with 'hall:' and 'fabric.cable.parts'. Switches "
      "are counted without transceivers.";
  return t;
}

Json cabling_json(const Cluster& c, const CablingSums& s) {
  Json j{{"cables", s.cables},
         {"length_m", s.length_m},
         {"transceivers", s.transceivers},
         {"too_long", s.too_long},
         {"cables_power_w", s.power_w},
         {"switches", c.topology.fabric_switches().size()},
         {"switches_power_w", c.switches_power_w > 0 ? Json(c.switches_power_w) : Json(nullptr)},
         {"parts", Json::array()}};
  for (std::size_t i = 0; i < s.parts.size(); ++i) {
    const CablePartSum& p = s.parts[i];
    const CablePart& part = c.cabling.parts[i];
    j["parts"].push_back({{"name", part.name},
                          {"medium", name_of(part.medium)},
                          {"reach_m", part.reach_m},
                          {"cables", p.cables},
                          {"ends", p.ends},
                          {"length_m", p.length_m},
                          {"longest_m", p.longest_m},
                          {"power_w", p.power_w}});
  }
  return j;
}

}  // namespace busbar
