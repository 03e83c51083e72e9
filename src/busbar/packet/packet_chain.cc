#include "busbar/packet/packet_chain.h"

#include <algorithm>
#include <cmath>

#include "busbar/packet/internal/record.h"

namespace busbar::packet {
namespace {

/// What one flow takes on an idle way, in picoseconds.
struct IdleTimes {
  double payload = 0, headers = 0;  ///< over the narrowest link
  double hops = 0;                  ///< a full packet over each of the others
  topology::LinkId narrowest = kNone<topology::LinkId>;
};

class PacketChain {
 public:
  PacketChain(const routing::Router& router, const program::FlowList& list, const PacketResult& result)
      : router_(router), list_(list), result_(result) {}

  std::vector<lowering::ChainPart> run() {
    std::uint32_t last = 0;
    for (std::uint32_t f = 1; f < list_.flows.size(); ++f)
      if (end(f) > end(last)) last = f;
    for (std::uint32_t f = last; f != kNone32;) {
      std::uint32_t before = kNone32;
      for (const std::uint32_t b : list_.after.row(f))
        if (before == kNone32 || end(b) > end(before)) before = b;
      add(f, before == kNone32 ? 0 : end(before));
      f = before;
    }
    return parts();
  }

 private:
  static double in_ps(Duration d) { return static_cast<double>(d.in_ps()); }
  double end(std::uint32_t f) const { return in_ps(result_.flows[f].start.since_start() + result_.flows[f].received); }

  void add(std::uint32_t f, double released) {
    const PacketOutcome& o = result_.flows[f];
    const double overhead = in_ps(list_.flows[f].overhead), took = in_ps(o.received);
    const IdleTimes idle = idle_times(list_.flows[f]);
    launch_ += in_ps(o.start.since_start()) - overhead - released;
    overheads_ += overhead;
    links_ += in_ps(o.parts.propagation);
    double left = took - in_ps(o.parts.propagation);
    for (const auto& [sum, ps] : {std::pair(&payload_, idle.payload), {&headers_, idle.headers}, {&hops_, idle.hops}}) {
      *sum += std::min(left, ps);  // packets over parallel links may take less than one way
      left -= std::min(left, ps);
    }
    waits_ += left;
    if (took > longest_) longest_ = took, narrowest_ = idle.narrowest;
  }

  IdleTimes idle_times(const program::ListedFlow& f) const {
    const topology::Topology& t = router_.topology();
    const packet::HostSettings shape;
    std::vector<routing::LinkShare> path;
    IdleTimes out;
    if (!router_.spread(f.from, f.to, f.nic_from, f.nic_to, 0, path).ok()) return out;  // between switches that add
    const auto ps_per_byte = [&](const routing::LinkShare& s) {
      const topology::LinkClass& c = t.link_class(s.link);
      const BytesPerSecond rate = topology::is_fabric(c.kind) ? c.floor_rate() : c.payload_rate();
      return kPsPerSecond / static_cast<double>(per_second(rate)) / list_.shares.of(c.kind);
    };
    const auto bytes = static_cast<double>(count(f.bytes));
    const double packets = std::max(1.0, std::ceil(bytes / shape.payload));
    const double packet = std::min(bytes, static_cast<double>(shape.payload)) + shape.header;
    double most = 0, narrow = 0;
    for (const routing::LinkShare& s : path) {
      out.hops += s.share * packet * ps_per_byte(s);
      if (s.share * ps_per_byte(s) <= most) continue;
      most = s.share * ps_per_byte(s);
      narrow = s.share * packet * ps_per_byte(s);
      out.narrowest = s.link;
    }
    out.hops -= narrow;
    out.payload = bytes * most;
    out.headers = packets * shape.header * most;
    return out;
  }

  std::vector<lowering::ChainPart> parts() const {
    std::vector<lowering::ChainPart> out;
    const auto add = [&](lowering::ChainPartKind kind, double ps, const char* phase) {
      lowering::ChainPart p;
      p.kind = kind;
      p.ps = ps;
      p.phase = phase;
      if (kind == lowering::ChainPartKind::kBandwidth) p.link = narrowest_;
      if (ps > 0) out.push_back(std::move(p));
    };
    add(lowering::ChainPartKind::kLaunch, launch_, "launch");
    add(lowering::ChainPartKind::kLatency, overheads_, "overheads of sends");
    add(lowering::ChainPartKind::kLatency, links_, "latency of links");
    add(lowering::ChainPartKind::kLatency, hops_, "one packet per hop");
    add(lowering::ChainPartKind::kBandwidth, payload_, "payload");
    add(lowering::ChainPartKind::kBandwidth, headers_, "headers of packets");
    add(lowering::ChainPartKind::kSharing, waits_, "queues, windows and other flows");
    return out;
  }

  const routing::Router& router_;
  const program::FlowList& list_;
  const PacketResult& result_;
  double launch_ = 0, overheads_ = 0, links_ = 0, payload_ = 0, headers_ = 0, hops_ = 0, waits_ = 0;
  double longest_ = -1;
  topology::LinkId narrowest_ = kNone<topology::LinkId>;
};

}  // namespace

std::vector<lowering::ChainPart> explain_packets(const routing::Router& router, const program::FlowList& list,
                                                 const PacketResult& result) {
  return list.flows.empty() ? std::vector<lowering::ChainPart>() : PacketChain(router, list, result).run();
}

}  // namespace busbar::packet
