#include "busbar/cli/packet_transports.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "busbar/packet/default_settings.h"

namespace busbar {
namespace {

// clang-format off: one row of the table per entry
constexpr PacketTransportName kNames[] = {
    {"nscc", PacketTransport::kNscc, "sender-based control in the style of Ultra Ethernet: marks, delay, trimming"},
    {"dcqcn", PacketTransport::kDcqcn, "RoCEv2 with DCQCN: rates by marks, pause frames"},
    {"hpcc", PacketTransport::kHpcc, "RoCEv2 with HPCC: windows by the load that switches report, pause frames"},
    {"roce", PacketTransport::kRoce, "RoCEv2 without congestion control: line rate until paused"},
    {"swift", PacketTransport::kSwift, "windows by delay; full queues drop"},
    {"ib", PacketTransport::kIb, "InfiniBand: credits, no congestion control"},
    {"tcp-cubic", PacketTransport::kTcpCubic, "TCP with CUBIC; full queues drop"},
    {"dctcp", PacketTransport::kDctcp, "TCP with DCTCP: windows by marks; full queues drop"},
    {"credit", PacketTransport::kCredit,
     "receiver-driven in the style of NDP and EQDS: paced by the receiver, trimming"}};
// clang-format on

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

std::span<const PacketTransportName> packet_transports() { return kNames; }

const PacketTransportName* find_packet_transport(std::string_view name) {
  const auto at = std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& t) { return name == t.name; });
  return at == std::end(kNames) ? nullptr : at;
}

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
