#include "busbar/questions/packet_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/formats/lines.h"

namespace busbar::questions {

const Record& record_of(const WatchRequest*) {
  using W = WatchRequest;
  static const Record record(
      "watch",
      {Field("series", &W::series, "", "write rates, queues, windows, marks and pauses of links and flows over time")
           .of("Files")
           .takes("FILE.csv")
           .with("engine=packet")
           .undecided(),
       Field("interval", &W::interval, "", "between the samples of --series (default 10us)")
           .of("Packets")
           .takes("TIME")
           .with("series"),
       Field("log", &W::log, "", "write every event of the flows in --log-flows")
           .of("Files")
           .takes("FILE.csv")
           .with("log_flows")
           .undecided(),
       Field("log_flows", &W::log_flows, "", "flows to log, by their ids, e.g. 3,17")
           .of("Packets")
           .takes("ID,ID,...")
           .with("log")});
  return record;
}

PacketWatch::PacketWatch(const WatchRequest& flags, const NamedFlows& flows, const topology::Topology& topology)
    : flags_(flags), flows_(flows), topology_(topology) {}

Status PacketWatch::watch(packet::PacketOptions& options) {
  if (!flags_.series.empty()) {
    const Result<Duration> interval = parse_duration(flags_.interval);
    if (!interval.ok()) return invalid(interval.error().message, field_of("interval"));
    if (*interval <= Duration()) return invalid("it must be longer than 0", field_of("interval"));
    options.series.every = *interval;
    options.series.look = [this](SimTime now, auto links, auto flows) { sample(now, links, flows); };
    series_ =
        "time_us,kind,name,GBps,queue_bytes,paused_percent,marked,trimmed,dropped,pauses,window_bytes,in_flight_bytes,"
        "pace_GBps\n";
  }
  if (flags_.log_flows.empty()) return {};
  for (const std::string_view id : split_at(flags_.log_flows, ',')) {
    const auto found = std::find(flows_.ids.begin(), flows_.ids.end(), formats::trimmed(id));
    if (found == flows_.ids.end()) return invalid(fmt::format("there is no flow '{}'", id), field_of("log_flows"));
    options.log.flows.push_back(static_cast<std::uint32_t>(found - flows_.ids.begin()));
  }
  options.log.take = [this](const packet::PacketLogEntry& e) { log_.push_back(e); };
  return {};
}

std::string PacketWatch::name_of_flow(std::uint32_t flow) const {
  return flow < flows_.ids.size() ? flows_.ids[flow] : "background";
}

/// Rates are of the interval that ends at the sample. Links that did nothing in it, and have no queue, get no row.
void PacketWatch::sample(SimTime now, std::span<const packet::PacketLinkSample> links,
                         std::span<const packet::PacketFlowSample> flows) {
  if (series_.size() > kMostBytes) return;
  const double us = now.since_start().in_us(), interval_s = (now - last_).in_s();
  links_.resize(links.size());
  for (std::size_t l = 0; l < links.size(); ++l) add_link(links[l], links_[l], us, interval_s);
  links_.assign(links.begin(), links.end());
  std::vector<packet::PacketFlowSample> ordered(flows.begin(), flows.end());
  std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.flow < b.flow; });
  for (const packet::PacketFlowSample& f : ordered) {
    if (f.flow >= acked_.size()) acked_.resize(f.flow + 1, 0);
    const auto bytes = static_cast<double>(f.acked_bytes - acked_[f.flow]);
    acked_[f.flow] = f.acked_bytes;
    fmt::format_to(std::back_inserter(series_), "{:.6f},flow,{},{:.6g},,,,,,,{:.0f},{},{}\n", us, name_of_flow(f.flow),
                   bytes / interval_s * 1e-9, f.window_bytes, f.in_flight_bytes,
                   f.pace_bytes_per_s > 0 ? fmt::format("{:.6g}", f.pace_bytes_per_s * 1e-9) : "");
  }
  last_ = now;
}

void PacketWatch::add_link(const packet::PacketLinkSample& now, const packet::PacketLinkSample& before, double us,
                           double interval_s) {
  const std::uint64_t sent = now.sent_bytes - before.sent_bytes;
  const Duration paused = now.paused - before.paused;
  if (sent == 0 && now.queue_bytes == 0 && paused == Duration()) return;
  fmt::format_to(std::back_inserter(series_), "{:.6f},link,{},{:.6g},{},{:.6g},{},{},{},{},,,\n", us,
                 topology_.name(now.link), static_cast<double>(sent) / interval_s * 1e-9, now.queue_bytes,
                 100 * paused.in_s() / interval_s, now.marks - before.marks, now.trims - before.trims,
                 now.drops - before.drops, now.pauses - before.pauses);
}

std::string PacketWatch::log_row(const packet::PacketLogEntry& e) const {
  const bool at_link = e.link != kNone<topology::LinkId>;
  return fmt::format("{:.6f},{},{},{},{},{},{},{}\n", e.at.since_start().in_us(), name_of_flow(e.flow),
                     packet::name_of(e.event), e.packet, at_link ? topology_.name(e.link) : "",
                     at_link ? std::to_string(e.queue_bytes) : "",
                     e.window_bytes > 0 ? fmt::format("{:.0f}", e.window_bytes) : "", e.part);
}

Status PacketWatch::add_files(std::vector<OutputFile>& files) {
  if (series_.size() > kMostBytes)
    return Error{ErrorCode::kDoesNotFit, "the samples take more than 1 GiB; take a longer interval",
                 field_of("interval")};
  if (!flags_.series.empty()) files.push_back({flags_.series, std::move(series_)});
  if (flags_.log_flows.empty()) return {};
  std::stable_sort(log_.begin(), log_.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  std::string out = "time_us,flow,event,packet,link,queue_bytes,window_bytes,part\n";
  for (const packet::PacketLogEntry& e : log_) out += log_row(e);
  files.push_back({flags_.log, std::move(out)});
  return {};
}

}  // namespace busbar::questions
