#include "busbar/questions/packet_transports.h"

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/packet/default_settings.h"

namespace busbar::questions {
namespace {

const char* unit_of(packet::PacketUnit unit) {
  constexpr const char* kUnits[] = {"bytes", "us", "bytes_per_s", "number", "word"};
  return kUnits[static_cast<int>(unit)];
}

Json in_unit(const packet::PacketKnob& knob, double value) {
  if (knob.unit == packet::PacketUnit::kWord) return packet::setting_text(knob, value);
  if (knob.unit == packet::PacketUnit::kBytes) return static_cast<std::uint64_t>(value);
  return knob.unit == packet::PacketUnit::kTime ? value * 1e-6 : value;
}

/// False: it is off, or another setting says it.
bool has_default(const packet::PacketKnob& knob, double value) {
  return !std::isnan(value) && value >= knob.least && value <= knob.most;
}

bool is_used(const packet::PacketKnob& knob, double value) {
  return !std::isnan(value) || std::string_view(knob.key) == "timeout_exponent";
}

ShownFigure figure_of(const packet::PacketKnob& knob, double standard) {
  ShownFigure out;
  const bool has = has_default(knob, standard);
  out.path = fmt::format("packet.{}", knob.key);
  if (has) out.value = in_unit(knob, standard);
  out.unit = unit_of(knob.unit);
  out.text = has ? packet::setting_text(knob, standard) : "none";
  out.source = knob.what;
  out.least = in_unit(knob, knob.least);
  out.most = in_unit(knob, knob.most);
  out.least_text = packet::setting_text(knob, knob.least);
  out.most_text = packet::setting_text(knob, knob.most);
  return out;
}

}  // namespace

std::string packet_transport_title(const packet::PacketTransportName& transport) {
  return fmt::format("--transport {} of packets: {}", transport.name, transport.what);
}

ShownEntry settings_entry(const packet::PacketTransportName& transport) {
  ShownEntry out;
  out.folder = "transports";
  out.name = transport.name;
  out.title = packet_transport_title(transport);
  out.figures.emplace();
  out.made_of.emplace();
  const std::vector<double> defaults = packet::default_settings(transport.transport);
  for (std::size_t k = 0; k < defaults.size(); ++k)
    if (is_used(packet::packet_knobs()[k], defaults[k]))
      out.figures->push_back(figure_of(packet::packet_knobs()[k], defaults[k]));
  return out;
}

}  // namespace busbar::questions
