// Data Center Quantized Congestion Notification: rates by marks, for RoCE.
//
// Source: Zhu et al., "Congestion control for large-scale RDMA deployments", SIGCOMM 2015 (alpha, three stages of
// recovery). Marks come back in acknowledgements. Constants: DcqcnConstants.
#include <algorithm>

#include "busbar/packet/internal/collected.h"
#include "busbar/packet/internal/common_defaults.h"

namespace busbar::packet {
namespace {

constexpr double kPerSecond = 1e-12;  ///< in units per ps

// Control::a is alpha, b the rate, c the target rate. t1 to t3 are the times of the next alpha update, decrease and
// increase. flag1: a mark came since the last alpha update; flag2: since the last decrease. stage counts increases
// since a decrease. Before the first mark t1 is 0 and the rate is the line's.

void set_rate(Control& c, const ControlSettings& s, double rate) {
  c.b = std::clamp(rate, std::min(s.dcqcn.least * kPerSecond, s.line_rate), s.line_rate);
  c.gap = c.b >= s.line_rate ? 0 : static_cast<Ps>(1024 / c.b);
  if (s.window_follows_rate) c.window = std::max(s.packet_bytes, s.max_window * c.b / s.line_rate);
}

void decrease(Control& c, const ControlSettings& s) {
  if (c.stage > 0 || c.c < c.b) c.c = c.b;  // consecutive cuts keep the target of the first, as NICs do by default
  set_rate(c, s, c.b * (1 - c.a / 2));
  c.stage = 0;
  c.t3 = c.t2 + s.dcqcn.increase_every;
}

void increase(Control& c, const ControlSettings& s) {
  const double step = (c.stage > s.dcqcn.fast_stages ? s.dcqcn.hyper : s.dcqcn.additive) * kPerSecond;
  if (c.stage >= s.dcqcn.fast_stages) c.c = std::min(s.line_rate, c.c + step);
  ++c.stage;
  set_rate(c, s, (c.b + c.c) / 2);
}

/// Alpha updates, decreases and increases that were due up to `now`, in the order of their times.
void dcqcn_clock(Control& c, const ControlSettings& s, Ps now) {
  if (c.t1 == 0) return;
  for (;;) {
    const Ps due = std::min({c.t1, c.t2, c.t3});
    if (due > now) return;
    if (due == c.t1) {
      c.a = (1 - s.dcqcn.gain) * c.a + (c.flag1 ? s.dcqcn.gain : 0);
      c.flag1 = false;
      c.t1 += s.dcqcn.alpha_every;
    } else if (due == c.t2) {
      if (c.flag2) decrease(c, s);
      c.flag2 = false;
      c.t2 += s.dcqcn.cut_every;
    } else {
      increase(c, s);
      c.t3 += s.dcqcn.increase_every;
    }
  }
}

void dcqcn_begin(Control& c, const ControlSettings& s, Ps, double) {
  c.b = c.c = s.line_rate;
  c.a = 1;
}

void dcqcn_ack(Control& c, const ControlSettings& s, const AckReport& report) {
  dcqcn_clock(c, s, report.now);
  if (report.marked <= 0) return;
  if (c.t1 == 0) {
    c.t1 = report.now + s.dcqcn.alpha_every;
    c.t2 = report.now + s.dcqcn.cut_every;
    c.t3 = report.now + s.dcqcn.increase_every;
  }
  c.flag1 = c.flag2 = true;
}

/// Marks from 800 to 3,200 kB at 400 Gb/s with at most 0.2, and a window that follows the rate: as published with HPCC.
void dcqcn_defaults(Profile& p, const Scale& scale) {
  roce_defaults(p, scale);
  const double faster = scale.line_rate / 0.05;  // than 400 Gb/s
  p.hosts.control.window_follows_rate = true;
  p.network.mark_low = static_cast<std::uint32_t>(800'000 * faster);
  p.network.mark_high = static_cast<std::uint32_t>(3'200'000 * faster);
  p.network.mark_most = (std::uint64_t{1} << 32) / 5;
}

}  // namespace

Transport dcqcn_transport() {
  return {{"dcqcn", PacketTransport::kDcqcn, "RoCEv2 with DCQCN: rates by marks, pause frames"},
          dcqcn_defaults,
          {.begin = dcqcn_begin, .ack = dcqcn_ack, .clock = dcqcn_clock},
          {
              {{"dcqcn.gain", PacketUnit::kNumber, 1e-6, 1,
                "of alpha (1/256: Zhu et al., SIGCOMM 2015; times and steps as published with HPCC)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.dcqcn.gain; }>()},
              {{"dcqcn.alpha_every", PacketUnit::kTime, 1e3, kSecond_ps, "between updates of alpha (1us)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.dcqcn.alpha_every; }>()},
              {{"dcqcn.cut_every", PacketUnit::kTime, 1e3, kSecond_ps, "between decreases (4us)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.dcqcn.cut_every; }>()},
              {{"dcqcn.increase_every", PacketUnit::kTime, 1e3, kSecond_ps, "between increases (300us)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.dcqcn.increase_every; }>()},
              {{"dcqcn.additive", PacketUnit::kRate, 1e3, kMostRate, "step of an increase (50Mb/s)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.dcqcn.additive; }>()},
              {{"dcqcn.hyper", PacketUnit::kRate, 1e3, kMostRate, "step after several increases (100Mb/s)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.dcqcn.hyper; }>()},
              {{"dcqcn.least", PacketUnit::kRate, 1e3, kMostRate, "lowest rate (1Gb/s)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.dcqcn.least; }>()},
              {{"dcqcn.fast_stages", PacketUnit::kNumber, 0, 1000,
                "increases after a cut that only go halfway back to the target (1: as published with HPCC; 5 in the "
                "paper)"},
               member<[](Profile& p) -> auto& { return p.hosts.control.dcqcn.fast_stages; }>()},
          }};
}

}  // namespace busbar::packet
