#include "busbar/cli/packet_transports.h"

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/packet/default_settings.h"

namespace busbar {
namespace {

const char* unit_of(PacketUnit unit) {
  constexpr const char* kUnits[] = {"bytes", "us", "bytes_per_s", "number", "word"};
  return kUnits[static_cast<int>(unit)];
}

Json in_unit(const PacketKnob& knob, double value) {
  if (knob.unit == PacketUnit::kWord) return setting_text(knob, value);
  if (knob.unit == PacketUnit::kBytes) return static_cast<std::uint64_t>(value);
  return knob.unit == PacketUnit::kTime ? value * 1e-6 : value;
}

/// False: it is off, or another setting says it.
bool has_default(const PacketKnob& knob, double value) {
  return !std::isnan(value) && value >= knob.least && value <= knob.most;
}

bool is_used(const PacketKnob& knob, double value) {
  return !std::isnan(value) || std::string_view(knob.key) == "timeout_exponent";
}

}  // namespace

std::string packet_transport_title(const PacketTransportName& transport) {
  return fmt::format("--transport {} of packets: {}", transport.name, transport.what);
}

Table settings_table(const PacketTransportName& transport) {
  Table table{fmt::format("transports/{}: settings of packets", transport.name),
              {to_left("packet.KEY"),
               {"default", Align::kRight},
               {"least", Align::kRight},
               {"most", Align::kRight},
               to_left("what it is (default: source)")}};
  const std::vector<double> defaults = default_settings(transport.transport);
  for (std::size_t k = 0; k < defaults.size(); ++k) {
    const PacketKnob& knob = packet_knobs()[k];
    if (!is_used(knob, defaults[k])) continue;
    table.rows.push_back({knob.key, has_default(knob, defaults[k]) ? setting_text(knob, defaults[k]) : "none",
                          setting_text(knob, knob.least), setting_text(knob, knob.most), knob.what});
  }
  table.note = fmt::format(
      "{}. Change one by --set packet.KEY=VALUE, many by --set packet=FILE.yaml with 'settings:'. Defaults that depend "
      "on the network: 400 Gb/s, two tiers of switches, 500 ns a cable; --json of a run gives those of its network.",
      packet_transport_title(transport));
  return table;
}

Json settings_entry(const PacketTransportName& transport) {
  Json j{{"folder", "transports"},
         {"name", transport.name},
         {"title", packet_transport_title(transport)},
         {"figures", Json::array()},
         {"made_of", Json::array()}};
  const std::vector<double> defaults = default_settings(transport.transport);
  for (std::size_t k = 0; k < defaults.size(); ++k) {
    const PacketKnob& knob = packet_knobs()[k];
    if (!is_used(knob, defaults[k])) continue;
    const bool has = has_default(knob, defaults[k]);
    j["figures"].push_back({{"path", fmt::format("packet.{}", knob.key)},
                            {"value", has ? in_unit(knob, defaults[k]) : Json(nullptr)},
                            {"unit", unit_of(knob.unit)},
                            {"text", has ? setting_text(knob, defaults[k]) : "none"},
                            {"source", knob.what},
                            {"confidence", nullptr},
                            {"least", in_unit(knob, knob.least)},
                            {"most", in_unit(knob, knob.most)}});
  }
  return j;
}

}  // namespace busbar
