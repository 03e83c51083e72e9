#include "busbar/packet/knobs.h"

#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <limits>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/packet/internal/knobs.h"
#include "busbar/packet/internal/transport.h"

namespace busbar::packet {
namespace {

using Unit = PacketUnit;

bool any(const Profile&) { return true; }
bool sprayed(const Profile& p) { return p.hosts.spray; }
bool lossy(const Profile& p) { return p.network.lossless == Lossless::kNo; }
bool paused(const Profile& p) { return p.network.lossless == Lossless::kPause; }
bool credited(const Profile& p) { return p.network.lossless == Lossless::kCredits; }
bool ordered(const Profile& p) { return p.hosts.recovery != Recovery::kTrimming; }
bool by_flowlet(const Profile& p) { return p.network.flowlet_gap > 0; }
bool targeted(const Profile& p) { return p.hosts.control.target_delay > 0; }

/// A knob, which transports use it, and how it is read and written.
struct Row {
  PacketKnob knob;
  bool (*used)(const Profile&);  ///< null: `only` uses it
  KnobAccess access;
  PacketTransport only{};

  bool counts(const Profile& p) const { return used != nullptr ? used(p) : only == p.transport; }
};

constexpr double kMost = kMostBytes, kSecond = kSecond_ps;
constexpr double kShare = 4294967296.0;  ///< NetworkOptions::mark_most of 1

// clang-format off: one row of the table per entry
const Row kShared[] = {
    {{"mtu", Unit::kBytes, 256, 16384,
      "a full packet on the wire with its headers (4160: Ultra Ethernet's 4 KiB and headers, rounded)"},
     any,
     member<[](Profile& p) -> auto& { return p.hosts.control.packet_bytes; }>()},
    {{"header", Unit::kBytes, 16, 255, "headers of a packet; a whole acknowledgement (64)"},
     any,
     member<[](Profile& p) -> auto& { return p.hosts.header; }>()},
    {{"packets_per_ack", Unit::kNumber, 1, 256, "packets for one acknowledgement (4; TCP 2: RFC 5681)"},
     any,
     member<[](Profile& p) -> auto& { return p.hosts.packets_per_ack; }>()},
    {{"recovery",
      Unit::kWord,
      0,
      1,
      "after a gap: go back to it, or resend what is missing (RoCE, InfiniBand: go-back, IBTA 1.6, 9.7; "
      "TCP: selective)",
      {"selective", "go-back"}},
     ordered,
     {[](const Profile& p) { return p.hosts.recovery == Recovery::kGoBack ? 1.0 : 0.0; },
      [](Profile& p, double value) { p.hosts.recovery = value > 0 ? Recovery::kGoBack : Recovery::kSelective; }}},
    {{"timeout", Unit::kTime, 1e6, kSecond,
      "without an answer, from the last transmission (100us; lossless 4ms; TCP 200us)"},
     any,
     member<[](Profile& p) -> auto& { return p.hosts.timeout; }>()},
    {{"timeout_exponent", Unit::kNumber, 0, 17, "the same as 4.096 us x 2^k (IBTA 1.6, 9.7.5.2; NCCL_IB_TIMEOUT)"},
     any,
     {[](const Profile&) { return std::numeric_limits<double>::quiet_NaN(); },  // timeout says it
      [](Profile& p, double value) { p.hosts.timeout = Ps{4'096'000} << static_cast<int>(value); }}},
    {{"window", Unit::kBytes, 256, kMost,
      "most bytes in flight (NSCC 1.5 BDP: Ultra Ethernet 1.0, 3.6.13; DCQCN, HPCC 1 BDP and an "
      "acknowledgement)"},
     any,
     member<[](Profile& p) -> auto& { return p.hosts.control.max_window; }>()},
    {{"first_window", Unit::kBytes, 256, kMost, "at the start of a flow (TCP 10 packets: RFC 6928; others: window)"},
     any,
     member<[](Profile& p) -> auto& { return p.hosts.control.first_window; }>()},
    {{"target_delay", Unit::kTime, 1e3, kSecond,
      "queueing delay aimed at (NSCC 0.75 round trips: Ultra Ethernet 1.0, 3.6.13; Swift 0.5)"},
     targeted,
     member<[](Profile& p) -> auto& { return p.hosts.control.target_delay; }>()},
    {{"entropies", Unit::kNumber, 1, 64, "paths per sprayed flow, a power of two (64: htsim)"},
     sprayed,
     member<[](Profile& p) -> auto& { return p.hosts.paths; }>()},
    {{"queue_pairs", Unit::kNumber, 1, 128,
      "per connection: a transfer between servers is cut into so many parts, each with its own path, window and "
      "timeout "
      "(1: NCCL_IB_QPS_PER_CONNECTION of NCCL 2.30; with NCCL_IB_SPLIT_DATA_ON_QPS=1)"},
     any,
     member<[](Profile& p) -> auto& { return p.queue_pairs; }>()},
    {{"hash",
      Unit::kWord,
      0,
      1,
      "of paths: the values of a flow meet them evenly, as under a CRC, or fall anywhere (linear)",
      {"linear", "independent"}},
     any,
     member<[](Profile& p) -> auto& { return p.network.independent_hash; }>()},
    {{"link_retry", Unit::kNumber, 0, 1,
      "1: the ends of a link repeat what it loses (InfiniBand's link-level retransmission); 0: the hosts must"},
     credited,
     member<[](Profile& p) -> auto& { return p.network.link_retry; }>()},
    {{"flowlet_gap", Unit::kTime, 1, kSecond,
      "a pause this long lets a flow change its path (1 round trip of the longest route: longer than paths differ)"},
     by_flowlet,
     member<[](Profile& p) -> auto& { return p.network.flowlet_gap; }>()},
    {{"queue", Unit::kBytes, 256, kMost,
      "per port (NSCC 1 BDP: Ultra Ethernet 1.0, 3.6.13; credit 0.5 BDP; TCP 1,000 packets)"},
     lossy,
     member<[](Profile& p) -> auto& { return p.network.queue_bytes; }>()},
    {{"control_queue", Unit::kBytes, 64, kMost, "per port: trimmed headers beyond it are dropped (no limit)"},
     lossy,
     member<[](Profile& p) -> auto& { return p.network.control_bytes; }>()},
    {{"mark_from", Unit::kBytes, 0, kMost,
      "queue at which marking begins, Kmin (NSCC 0.2 queues; DCQCN 800 kB at 400 Gb/s: HPCC, SIGCOMM 2019)"},
     any,
     member<[](Profile& p) -> auto& { return p.network.mark_low; }>()},
    {{"mark_to", Unit::kBytes, 0, kMost,
      "queue at which marking is at its most, Kmax (NSCC 0.8 queues; DCQCN 3.2 MB at 400 Gb/s)"},
     any,
     member<[](Profile& p) -> auto& { return p.network.mark_high; }>()},
    {{"mark_most", Unit::kNumber, 0, 1, "probability there, Pmax; above mark_to all are marked (1; DCQCN 0.2)"},
     any,
     {[](const Profile& p) { return static_cast<double>(p.network.mark_most) / kShare; },
      [](Profile& p, double value) { p.network.mark_most = static_cast<std::uint64_t>(value * kShare); }}},
    {{"buffer", Unit::kBytes, 1e4, kMost, "per switch, shared (32 MB: HPCC, SIGCOMM 2019)"},
     paused,
     member<[](Profile& p) -> auto& { return p.network.buffer_bytes; }>()},
    {{"headroom", Unit::kBytes, 0, kMost,
      "per cable, part of the buffer, for what arrives after a pause frame (3 BDP)"},
     paused,
     member<[](Profile& p) -> auto& { return p.network.headroom_bytes; }>()},
    {{"pause_eighths", Unit::kNumber, 1, 64,
      "an ingress is paused above so many eighths of the free buffer (1: HPCC, SIGCOMM 2019)"},
     paused,
     member<[](Profile& p) -> auto& { return p.network.pause_eighths; }>()},
    {{"pause_above", Unit::kBytes, 0, kMost, "a fixed threshold instead; 0: none (0)"},
     paused,
     member<[](Profile& p) -> auto& { return p.network.pause_fixed; }>()},
    {{"resume_below", Unit::kBytes, 0, kMost, "so far below the threshold traffic resumes (2 packets)"},
     paused,
     member<[](Profile& p) -> auto& { return p.network.resume_below; }>()},
    {{"credit_buffer", Unit::kBytes, 512, 2e9, "per cable (4 x latency x rate and 4 packets: never limits a stream)"},
     credited,
     member<[](Profile& p) -> auto& { return p.network.credit_bytes; }>()},
};
// clang-format on

/// All, in the order of packet_knobs().
const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> out(std::begin(kShared), std::end(kShared));
    for (const Transport& t : transports())
      for (const TransportKnob& k : t.knobs) out.push_back({k.knob, nullptr, k.access, t.name.transport});
    return out;
  }();
  return all;
}

bool is(const Row& row, std::string_view key) { return key == row.knob.key; }

/// Contradictions of settings; `where`: the place of the last one.
Status check(const Profile& p, const Where& where) {
  const auto wrong = [&](const char* what) { return invalid(fmt::format("packet.{}", what), where); };
  if (p.network.mark_low > p.network.mark_high) return wrong("mark_from is above packet.mark_to");
  if (!std::has_single_bit(p.hosts.paths)) return wrong("entropies must be 1, 2, 4, 8, 16, 32 or 64");
  if (lossy(p) && p.network.queue_bytes < p.hosts.control.packet_bytes) return wrong("queue holds no full packet");
  if (credited(p) && p.network.credit_bytes < 2 * p.network.packet_bytes)
    return wrong("credit_buffer holds less than two packets");
  if (p.hosts.control.max_window < p.hosts.control.packet_bytes) return wrong("window is smaller than a packet");
  return {};
}

}  // namespace

HostSettings shape_of(const PacketOptions& options) {
  HostSettings shape;
  std::uint32_t full = shape.payload + shape.header;
  for (const PacketSetting& s : options.settings) {
    if (is(rows()[s.knob], "mtu")) full = static_cast<std::uint32_t>(s.value);
    if (is(rows()[s.knob], "header")) shape.header = static_cast<std::uint32_t>(s.value);
  }
  shape.payload = full - shape.header;
  shape.control.packet_bytes = full;
  return shape;
}

Status apply_settings(const PacketOptions& options, Profile& profile) {
  for (const PacketSetting& s : options.settings) {
    const Row& row = rows()[s.knob];
    if (!row.counts(profile))
      return invalid(fmt::format("packet.{} has no effect with this transport and --lb", row.knob.key), s.where);
    row.access.set(profile, s.value);
  }
  return check(profile, options.settings.empty() ? Where{} : options.settings.back().where);
}

std::vector<double> settings_of(const Profile& profile) {
  std::vector<double> values;
  for (const Row& row : rows())
    values.push_back(row.counts(profile) ? row.access.get(profile) : std::numeric_limits<double>::quiet_NaN());
  return values;
}

std::span<const PacketKnob> packet_knobs() {
  static const std::vector<PacketKnob> knobs = [] {
    std::vector<PacketKnob> all;
    for (const Row& row : rows()) all.push_back(row.knob);
    return all;
  }();
  return knobs;
}

namespace {

using Prefix = std::pair<double, const char*>;
constexpr Prefix kBytes[] = {{1e9, "GB"}, {1e6, "MB"}, {1, "B"}};
constexpr Prefix kTimes[] = {{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}, {1, "ps"}};
constexpr Prefix kBits[] = {{1e12, "Tb/s"}, {1e9, "Gb/s"}, {1e6, "Mb/s"}, {1, "b/s"}};

/// With the largest prefix that leaves at least 1; the number in full, so that it can be given back.
std::string scaled(double value, std::span<const Prefix> prefixes) {
  for (const auto& [scale, unit] : prefixes)
    if (value >= scale) return fmt::format("{:.7g}{}", value / scale, unit);
  return fmt::format("{:.7g}{}", value, prefixes.back().second);
}

Result<double> read_value(const PacketKnob& knob, std::string_view text) {
  double value = 0;
  switch (knob.unit) {
    case PacketUnit::kBytes: {
      if (is_number(text, value))
        return invalid(fmt::format("'{}' has no unit; write {}B or {}kB", text, text, text), {});
      BUSBAR_ASSIGN(const Bytes bytes, parse_size(text));
      return static_cast<double>(count(bytes));
    }
    case PacketUnit::kTime: {
      BUSBAR_ASSIGN(const Duration time, parse_duration(text));
      return static_cast<double>(time.in_ps());
    }
    case PacketUnit::kRate: {
      if (is_number(text, value)) return invalid(fmt::format("'{}' has no unit; write {}Mb/s", text, text), {});
      BUSBAR_ASSIGN(const BytesPerSecond rate, parse_rate(text));
      return static_cast<double>(per_second(rate));
    }
    case PacketUnit::kWord:
      for (int i = 0; i < 2; ++i)
        if (text == knob.words[i]) return i;
      return invalid(fmt::format("'{}' is neither {} nor {}", text, knob.words[0], knob.words[1]), {});
    case PacketUnit::kNumber:
      break;
  }
  if (!is_number(text, value)) return invalid(fmt::format("'{}' is not a number", text), {});
  return value;
}

}  // namespace

std::string setting_text(const PacketKnob& knob, double value) {
  switch (knob.unit) {
    case PacketUnit::kBytes:
      return scaled(value, kBytes);
    case PacketUnit::kTime:
      return scaled(value, kTimes);
    case PacketUnit::kRate:
      return scaled(8 * value, kBits);
    case PacketUnit::kWord:
      return knob.words[value > 0 ? 1 : 0];
    case PacketUnit::kNumber:
      break;
  }
  return fmt::format("{:.6g}", value);
}

Result<PacketSetting> read_packet_setting(std::string_view key, std::string_view text, const Where& where) {
  std::vector<std::string> keys;
  for (const PacketKnob& knob : packet_knobs()) keys.emplace_back(knob.key);
  const auto known = std::find(keys.begin(), keys.end(), key);
  if (known == keys.end())
    return invalid(fmt::format("there is no 'packet.{}'; {}", key,
                               suggestion(key, keys, "busbar catalog transports/nscc lists those of nscc")),
                   where);
  PacketSetting out{static_cast<std::uint32_t>(known - keys.begin()), 0, where};
  const PacketKnob& knob = packet_knobs()[out.knob];
  const Result<double> value = read_value(knob, text);
  if (!value.ok()) return invalid(fmt::format("packet.{}: {}", key, value.error().message), where);
  if (*value < knob.least || *value > knob.most)
    return invalid(fmt::format("packet.{}: {} is outside {} to {}", key, text, setting_text(knob, knob.least),
                               setting_text(knob, knob.most)),
                   where);
  out.value = *value;
  return out;
}

}  // namespace busbar::packet
