#include "busbar/questions/packet_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/packet/transport_names.h"
#include "busbar/predict/flow_sizes.h"
#include "busbar/predict/packet_words.h"
#include "busbar/questions/question.h"
#include "busbar/topology/selector.h"

namespace busbar::packet {

const Record& record_of(const PacketCounts*) {
  static const Record record("packets", {{"data", &PacketCounts::data, "", "packets of data"},
                                         {"acks", &PacketCounts::acks, "", "acknowledgements"},
                                         {"nacks", &PacketCounts::nacks, "", "negative acknowledgements"},
                                         {"asks", &PacketCounts::asks, "", "headers that ask for an acknowledgement"},
                                         {"resent", &PacketCounts::resent, "", "packets sent again"},
                                         {"trimmed", &PacketCounts::trims, "", "packets cut to their header"},
                                         {"dropped", &PacketCounts::drops, "", "packets lost in a queue"},
                                         {"marked", &PacketCounts::marks, "", "packets with a congestion mark"},
                                         {"pauses", &PacketCounts::pauses, "", "times that a link was paused"},
                                         {"timeouts", &PacketCounts::timeouts, "", "of senders"}});
  return record;
}

}  // namespace busbar::packet

namespace busbar::questions {

namespace {

constexpr std::int64_t kMostThreads = 256;

Error wrong_fault(const std::string& text, const std::string& why) {
  return invalid(
      fmt::format("'{}': {}; write SELECTOR=WHAT[@FROM[..UNTIL]], for example leaf0-spine1=down@20us..60us or "
                  "node5.nic0=loss:0.001",
                  text, why),
      field_of("fault"));
}

/// Parses the WHAT of a fault.
Status read_kind(const std::string& text, std::string_view what, packet::PacketFault& fault) {
  using Kind = packet::PacketFault::Kind;
  const std::size_t colon = what.find(':');
  const std::string_view word = what.substr(0, colon);
  const std::pair<const char*, Kind> kinds[] = {{"down", Kind::kDown},
                                                {"rate", Kind::kRate},
                                                {"loss", Kind::kLoss},
                                                {"slow", Kind::kSlow},
                                                {"storm", Kind::kStorm}};
  const auto known = std::find_if(std::begin(kinds), std::end(kinds), [&](const auto& k) { return word == k.first; });
  if (known == std::end(kinds))
    return wrong_fault(text, fmt::format("there is no fault '{}', only down, rate, loss, slow and storm", word));
  fault.kind = known->second;
  const bool shares = fault.kind != Kind::kDown && fault.kind != Kind::kStorm;
  if (shares != (colon != std::string_view::npos))
    return wrong_fault(text, shares ? fmt::format("the amount is missing; write {}:0.01", word)
                                    : fmt::format("{} takes no number", word));
  if (!shares) return {};
  const std::string_view number = what.substr(colon + 1);
  if (!is_number(number, fault.value) || !(fault.value > 0 && fault.value < 1))
    return wrong_fault(text, fmt::format("'{}' is not a number above 0 and below 1", number));
  return {};
}

Status read_times(const std::string& text, std::string_view times, packet::PacketFault& fault) {
  const std::size_t dots = times.find("..");
  const auto read = [&](std::string_view t, SimTime& out) -> Status {
    const Result<Duration> d = parse_duration(t);
    if (!d.ok()) return wrong_fault(text, d.error().message);
    out = SimTime::at(*d);
    return {};
  };
  BUSBAR_RETURN_IF_ERROR(read(times.substr(0, dots), fault.from));
  if (dots != std::string_view::npos) BUSBAR_RETURN_IF_ERROR(read(times.substr(dots + 2), fault.until));
  if (fault.until <= fault.from) return wrong_fault(text, "it ends before it begins");
  return {};
}

Status read_faults(const std::vector<std::string>& texts, const std::string& reroute_after,
                   const topology::Topology& topology, packet::PacketOptions& options) {
  if (reroute_after == "never") {
    options.reroute_after = Duration::max();
  } else if (!reroute_after.empty()) {
    const Result<Duration> after = parse_duration(reroute_after);
    if (!after.ok()) return invalid(after.error().message, field_of("reroute_after"));
    options.reroute_after = *after;
  }
  for (const std::string& text : texts) {
    packet::PacketFault fault;
    const std::size_t equals = text.rfind('='), at = text.find('@', equals == std::string::npos ? 0 : equals);
    if (equals == std::string::npos) return wrong_fault(text, "the kind of fault is missing");
    const std::string_view all(text);
    BUSBAR_RETURN_IF_ERROR(
        read_kind(text, all.substr(equals + 1, at == std::string::npos ? at : at - equals - 1), fault));
    if (at != std::string::npos) BUSBAR_RETURN_IF_ERROR(read_times(text, all.substr(at + 1), fault));
    Result<std::vector<topology::LinkId>> cables = topology::select_cables(topology, all.substr(0, equals));
    if (!cables.ok()) return wrong_fault(text, cables.error().message);
    const bool of_host =
        fault.kind == packet::PacketFault::Kind::kSlow || fault.kind == packet::PacketFault::Kind::kStorm;
    const std::size_t before = options.faults.size();
    for (const topology::LinkId cable : *cables) {
      for (const topology::LinkId way : {cable, topology::reverse(cable)}) {
        const topology::DeviceKind end = topology.kind(topology.to(way));
        if (of_host && end != topology::DeviceKind::kNic && end != topology::DeviceKind::kGpu) continue;
        fault.link = way;
        options.faults.push_back(fault);
      }
    }
    if (options.faults.size() == before) return wrong_fault(text, "no link of this selector ends at a host");
  }
  return {};
}

/// Parses LOAD:SIZES@UNTIL.
Status read_background(const std::string& text, const std::string& catalog_directory, packet::PacketOptions& options) {
  const std::size_t colon = text.find(':'), at = text.rfind('@');
  const auto wrong = [&](const std::string& why) {
    return invalid(fmt::format("'{}': {}; write LOAD:SIZES@UNTIL, for example 0.3:websearch@1ms", text, why),
                   field_of("background"));
  };
  if (colon == std::string::npos || at == std::string::npos || at < colon)
    return wrong("load, sizes or end is missing");
  packet::BackgroundTraffic b;
  if (!is_number(std::string_view(text).substr(0, colon), b.load) || !(b.load > 0 && b.load < 1))
    return wrong("the load must be above 0 and below 1, as a share of each host's cable");
  const Result<Duration> until = parse_duration(std::string_view(text).substr(at + 1));
  if (!until.ok()) return wrong(until.error().message);
  b.until = SimTime::at(*until);
  BUSBAR_ASSIGN(b.sizes, predict::read_flow_sizes(text.substr(colon + 1, at - colon - 1), catalog_directory));
  b.seed = options.seed;
  options.background = std::move(b);
  return {};
}

/// Weights or "strict", separated by commas.
Result<std::vector<std::uint32_t>> read_lanes(const std::string& text) {
  constexpr std::uint32_t kMostWeight = 1000;
  std::vector<std::uint32_t> weights;
  for (const std::string_view word : split_at(text, ',')) {
    std::uint32_t weight = 0;
    if (word != "strict" && (!is_number(word, weight) || weight == 0 || weight > kMostWeight))
      return invalid(fmt::format("'{}' is not a weight; write 1 to {} or strict for each lane, for example strict,3,1",
                                 word, kMostWeight),
                     field_of("lanes"));
    weights.push_back(weight);  // 0: strict
  }
  if (weights.size() > program::kMostFlowLanes)
    return invalid(
        fmt::format("{} lanes are too many; at most {} are possible", weights.size(), program::kMostFlowLanes),
        field_of("lanes"));
  return weights;
}

std::vector<std::string> transport_words() {
  std::vector<std::string> out;
  for (const packet::PacketTransportName& t : packet::packet_transports()) out.emplace_back(t.name);
  return out;
}

std::vector<std::string> balance_words() {
  std::vector<std::string> out;
  for (const std::string_view b : predict::packet_balances()) out.emplace_back(b);
  return out;
}

/// A notice every two seconds from the second second on.
std::function<void(const packet::PacketProgress&)> progress_as_notices(std::function<void(const std::string&)> notice) {
  using Clock = std::chrono::steady_clock;
  constexpr double kEvery = 2;
  if (!notice) return {};
  const auto begin = Clock::now();
  return [begin, notice = std::move(notice), said = 0.0](const packet::PacketProgress& p) mutable {
    const double s = std::chrono::duration<double>(Clock::now() - begin).count();
    if (s < said + kEvery) return;
    said = s;
    const double share = static_cast<double>(p.hops) / std::max(1.0, p.hops_expected);
    const std::string left =
        share > 0 && share < 1 ? fmt::format(", about {:.0f} s to go", s * (1 - share) / share) : std::string();
    notice(fmt::format("{:.1f} us simulated, {} of {} flows ended, {:.1f} million packet-hops in {:.0f} s{}",
                       p.now.since_start().in_us(), p.done, p.flows, static_cast<double>(p.hops) * 1e-6, s, left));
  };
}

Status add_extras(const PacketExtras& extras, const topology::Topology& topology, const std::string& catalog_directory,
                  packet::PacketOptions& options) {
  options.cut_through = extras.cut_through;
  if (!extras.lanes.empty()) {
    BUSBAR_ASSIGN(options.lanes, read_lanes(extras.lanes));
  }
  BUSBAR_ASSIGN(options.threads, threads_of(extras.threads));
  if (!extras.background.empty())
    BUSBAR_RETURN_IF_ERROR(read_background(extras.background, catalog_directory, options));
  return read_faults(extras.fault, extras.reroute_after, topology, options);
}

Field packet_field(Field f) { return std::move(f).of("Packets").with("engine=packet"); }

}  // namespace

const Record& record_of(const PacketRun*) {
  static const Record record(
      "packet run",
      {Field("transport", &PacketRun::transport, "",
             fmt::format("{} (default nscc); fluids: with its penalties", fmt::join(transport_words(), ", ")))
           .takes("NAME")
           .of("Packets")
           .among(transport_words()),
       Field("lb", &PacketRun::lb, "", fmt::format("{} (default: the cluster's)", fmt::join(balance_words(), ", ")))
           .takes("NAME")
           .of("Packets")
           .among(balance_words()),
       packet_field(Field("patience", &PacketRun::patience, "s", "refuse runs with a longer run time (default 1800)")
                        .takes("SECONDS")
                        .undecided())});
  return record;
}

const Record& record_of(const PacketExtras*) {
  static const Record record(
      "packet extras",
      {packet_field({"cut_through", &PacketExtras::cut_through, "",
                     "switches forward a packet while it still arrives, if the outgoing link is not faster"}),
       packet_field(Field("background", &PacketExtras::background, "",
                          "further flows (Poisson), e.g. 0.3:websearch@1ms; sizes as --sizes of flows")
                        .takes("LOAD:SIZES@UNTIL")),
       packet_field(Field("fault", &PacketExtras::fault, "",
                          "down, rate:0.25, loss:0.001, slow:0.5 (receiver) or storm (of pauses), e.g. "
                          "leaf0-spine1=down@20us..60us; repeatable")
                        .takes("SELECTOR=WHAT[@FROM[..UNTIL]]")),
       packet_field(Field("lanes", &PacketExtras::lanes, "",
                          "virtual lanes with these weights, or strict; a flow uses its column lane, jobs take turns")
                        .takes("W,W,...")),
       threads_field(&PacketExtras::threads),
       Field("reroute_after", &PacketExtras::reroute_after, "",
             "time until switches route around a failed link (default 1ms), or never")
           .takes("TIME")
           .of("Packets")
           .with("fault")});
  return record;
}

Result<std::uint32_t> threads_of(const std::optional<std::int64_t>& threads) {
  if (threads.value_or(1) < 1 || threads.value_or(1) > kMostThreads)
    return invalid(fmt::format("1 to {} threads", kMostThreads), field_of("threads"));
  return static_cast<std::uint32_t>(threads.value_or(0));
}

Json settings_json(const std::vector<double>& settings) {
  Json out = Json::object();
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const packet::PacketKnob& knob = packet::packet_knobs()[i];
    if (std::isnan(settings[i])) continue;
    if (knob.unit == packet::PacketUnit::kBytes) {
      out[std::string(knob.key) + "_bytes"] = static_cast<std::uint64_t>(settings[i]);
    } else if (knob.unit == packet::PacketUnit::kTime) {
      out[std::string(knob.key) + "_us"] = settings[i] * 1e-6;
    } else if (knob.unit == packet::PacketUnit::kWord) {
      out[knob.key] = knob.words[settings[i] > 0 ? 1 : 0];
    } else {
      out[knob.unit == packet::PacketUnit::kRate ? std::string(knob.key) + "_bytes_per_s" : knob.key] = settings[i];
    }
  }
  return out;
}

Result<packet::PacketOptions> packet_options_of(PacketRun& run, const PacketExtras& extras,
                                                std::optional<std::int64_t> seed, const spec::Cluster& cluster,
                                                const spec::Overrides& overrides, const Context& context) {
  if (seed && *seed < 0) return invalid("a seed is 0 or more", field_of("seed"));
  BUSBAR_ASSIGN(packet::PacketOptions p, predict::packet_options(run.transport, run.lb, cluster, overrides));
  p.patience_s = run.patience;
  p.progress = progress_as_notices(context.notice);
  p.notice = context.notice;
  p.stop = context.stop;
  if (seed) p.seed = static_cast<std::uint64_t>(*seed);
  BUSBAR_RETURN_IF_ERROR(add_extras(extras, cluster.topology, overrides.catalog, p));
  return p;
}

}  // namespace busbar::questions
