// The parameters of packets that users can set: --set packet.KEY=VALUE.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "busbar/base/result.h"

namespace busbar::packet {

enum class PacketUnit : std::uint8_t { kBytes, kTime, kRate, kNumber, kWord };

struct PacketKnob {
  const char* key;
  PacketUnit unit;
  double least, most;                         ///< bytes, picoseconds, bytes per second, or a plain number
  const char* what;                           ///< with the default, and its source
  const char* words[2] = {nullptr, nullptr};  ///< kWord: the text of 0 and of 1
};
/// All of them, in the order of help.
std::span<const PacketKnob> packet_knobs();

/// "4160B", "4ms", "50Mb/s", "selective": a value of the knob as read_packet_setting() takes it.
std::string setting_text(const PacketKnob& knob, double value);

/// A value for packet_knobs()[knob], in its unit.
struct PacketSetting {
  std::uint32_t knob = 0;
  double value = 0;
  Where where{"", 0, 0, "--set"};  ///< where the user wrote it, for errors
};
/// Errors, at `where`: kInvalid for an unknown key, a value without its unit or outside the range.
Result<PacketSetting> read_packet_setting(std::string_view key, std::string_view text,
                                          const Where& where = {"", 0, 0, "--set"});

}  // namespace busbar::packet
