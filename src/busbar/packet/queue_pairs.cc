#include "busbar/packet/internal/queue_pairs.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>

#include "busbar/packet/internal/knobs.h"

namespace busbar::packet {
namespace {

constexpr std::uint64_t kAlign = 128;

bool is_connection(const program::ListedFlow& f, const topology::Topology& t) {
  return !f.is_work() && t.block_of(f.from) != t.block_of(f.to) && !t.device_class(f.from).reduces &&
         !t.device_class(f.to).reduces;
}

/// The sums over the parts of a flow. They start together, so those that are not `live` have ended.
PacketFlowSample sample_of_flow(std::uint32_t flow, const CutList& cut, std::span<const PacketFlowSample> live,
                                std::uint32_t payload) {
  PacketFlowSample sum;
  sum.flow = flow;
  const auto add_ended = [&](std::uint32_t part, std::int64_t times) {
    const auto bytes = static_cast<std::int64_t>(count(cut.list.flows[part].bytes));
    sum.acked_bytes += static_cast<std::uint64_t>(times * bytes);
    sum.packets += static_cast<std::uint32_t>(times * ((bytes + payload - 1) / payload));
  };
  for (std::uint32_t part = cut.first[flow]; part < cut.first[flow + 1]; ++part) add_ended(part, 1);
  for (const PacketFlowSample& part : live) {
    add_ended(part.flow, -1);
    sum.acked_bytes += part.acked_bytes;
    sum.packets += part.packets;
    sum.in_flight_bytes += part.in_flight_bytes;
    sum.window_bytes += part.window_bytes;
    sum.pace_bytes_per_s += part.pace_bytes_per_s;
  }
  return sum;
}

}  // namespace

std::uint32_t queue_pairs_of(const PacketOptions& options) {
  std::uint32_t n = 1;
  for (const PacketSetting& s : options.settings)
    if (std::string_view(packet_knobs()[s.knob].key) == "queue_pairs") n = static_cast<std::uint32_t>(s.value);
  return n;
}

CutList cut_for_queue_pairs(const program::FlowList& whole, const topology::Topology& topology,
                            std::uint32_t queue_pairs) {
  CutList out;
  out.list.reach = whole.reach;
  out.list.shares = whole.shares;
  for (const program::ListedFlow& f : whole.flows) {
    out.first.push_back(static_cast<std::uint32_t>(out.list.flows.size()));
    std::uint64_t left = count(f.bytes);
    const std::uint64_t share = (left + queue_pairs - 1) / queue_pairs;
    const std::uint64_t part = is_connection(f, topology) ? (share + kAlign - 1) / kAlign * kAlign : left;
    do {
      program::ListedFlow one = f;
      one.bytes = Bytes{std::min(part, left)};
      left -= count(one.bytes);
      out.list.flows.push_back(one);
    } while (left > 0);
  }
  out.first.push_back(static_cast<std::uint32_t>(out.list.flows.size()));
  for (std::uint32_t f = 0; f < whole.flows.size(); ++f) {
    for (std::uint32_t part = out.first[f]; part < out.first[f + 1]; ++part) {
      for (const std::uint32_t before : whole.after.row(f))
        for (std::uint32_t p = out.first[before]; p < out.first[before + 1]; ++p) out.list.after.values.push_back(p);
      out.list.after.close_row();
    }
  }
  return out;
}

PacketOptions watch_parts(const CutList& cut, const PacketOptions& options) {
  const HostSettings shape = shape_of(options);
  std::vector<std::uint32_t> flow_of;
  for (std::uint32_t f = 0; f + 1 < cut.first.size(); ++f) flow_of.resize(cut.first[f + 1], f);
  PacketOptions out = options;
  if (options.series.look) {
    out.series.look = [&cut, flow_of, payload = shape.payload, look = options.series.look](
                          SimTime at, std::span<const PacketLinkSample> links, std::span<const PacketFlowSample> live) {
      std::map<std::uint32_t, std::vector<PacketFlowSample>> parts_of;
      for (const PacketFlowSample& part : live) parts_of[flow_of[part.flow]].push_back(part);
      std::vector<PacketFlowSample> flows;
      for (const auto& [flow, parts] : parts_of) flows.push_back(sample_of_flow(flow, cut, parts, payload));
      look(at, links, flows);
    };
  }
  out.log.flows.clear();
  for (const std::uint32_t f : options.log.flows)
    for (std::uint32_t part = cut.first[f]; part < cut.first[f + 1]; ++part) out.log.flows.push_back(part);
  if (options.log.take) {
    out.log.take = [&cut, flow_of, take = options.log.take](const PacketLogEntry& of_part) {
      PacketLogEntry e = of_part;
      e.flow = flow_of[of_part.flow];
      e.part = of_part.flow - cut.first[e.flow];
      take(e);
    };
  }
  return out;
}

void join_parts(const CutList& cut, const std::vector<Duration>& alone, PacketResult& result) {
  std::vector<PacketOutcome> joined;
  result.done = 0;
  for (std::size_t f = 0; f + 1 < cut.first.size(); ++f) {
    const std::span<const PacketOutcome> parts(result.flows.data() + cut.first[f], cut.first[f + 1] - cut.first[f]);
    PacketOutcome all = *std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
      return a.done != b.done ? a.done : a.fct < b.fct;  // one that has not ended is the last
    });
    all.resent = 0;
    for (const PacketOutcome& p : parts) {
      all.received = std::max(all.received, p.received);
      all.resent += p.resent;
    }
    all.alone = alone[f];
    result.done += all.done ? 1 : 0;
    joined.push_back(all);
  }
  result.flows = std::move(joined);
}

}  // namespace busbar::packet
