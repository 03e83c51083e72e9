#include "busbar/survive/failure_rates.h"

#include <algorithm>
#include <set>
#include <utility>

#include "busbar/base/input.h"
#include "busbar/base/yaml.h"
#include "busbar/spec/reading.h"
#include "busbar/topology/cabling.h"

namespace busbar::survive {
namespace {

constexpr double kDaysPerYear = 365.25;
constexpr double kMostPerYear = 1e6;  // one in half a minute
constexpr std::uint64_t kCpusPerServer = 2;

Result<FailureCause> read_cause(const YamlNode& node) {
  FailureCause out;
  MapReader r = spec::sourced(node);
  r.required("name", &YamlNode::as_string, out.name);
  const YamlNode part = r.required("part");
  r.required("per_year", &YamlNode::as_number, out.per_year, 0, kMostPerYear);
  r.optional("hardware", &YamlNode::as_bool, out.hardware);
  r.optional("waits", &YamlNode::as_bool, out.waits);
  r.optional("network", &YamlNode::as_bool, out.network);
  r.optional("silent", &YamlNode::as_bool, out.silent);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  BUSBAR_ASSIGN(out.part, spec::as_enum(part, kLastFailingPart, &name_of, "part"));
  if (const auto source = node.find("source")) out.source = source->scalar();
  return out;
}

Result<FailureRates> read_rates(const YamlDocument& document) {
  FailureRates out;
  MapReader r = spec::sourced(document.root());
  r.required("name", &YamlNode::as_string, out.name);
  const auto range = r.optional("range");
  const YamlNode causes = r.required("causes");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (range) {
    MapReader ends = spec::sourced(*range);
    ends.required("low", &YamlNode::as_number, out.low, 0, 1);
    ends.required("high", &YamlNode::as_number, out.high, 1, kMostPerYear);
    BUSBAR_RETURN_IF_ERROR(ends.finish());
    if (const auto source = range->find("source")) out.range_source = source->scalar();
  }
  if (causes.kind() != YamlNode::Kind::kSequence || causes.size() == 0)
    return causes.error("expected a list of causes: [{name: NIC, part: nic, per_year: 0.003}]");
  BUSBAR_RETURN_IF_ERROR(spec::read_items(causes, read_cause, out.causes));
  out.text = document.text();
  return out;
}

bool has_fabric(const topology::Topology& t, topology::DeviceId d) {
  const auto links = t.out_links(d);
  return std::any_of(links.begin(), links.end(),
                     [&](topology::LinkId l) { return topology::is_fabric(t.link_class(l).kind); });
}

std::uint64_t fabric_cables(const spec::Cluster& cluster) {
  const topology::Topology& t = cluster.topology;
  if (!cluster.cabling.parts.empty()) return topology::lay_cables(t, cluster.cabling).size();
  std::uint64_t n = 0;
  for (std::uint32_t i = 0; i < t.link_count(); i += 2)
    n += topology::is_fabric(t.link_class(topology::LinkId{i}).kind) ? 1 : 0;
  return n;
}

std::uint64_t& at(PartCounts& counts, FailingPart part) { return counts[static_cast<std::size_t>(part)]; }

}  // namespace

const char* name_of(FailingPart part) {
  constexpr const char* kNames[] = {"gpu", "nic", "cable", "switch", "server"};
  return kNames[static_cast<std::size_t>(part)];
}

Result<FailureRates> read_failure_rates(const std::string& name, const spec::Catalog& catalog) {
  const bool file = names_input(name) || name.ends_with(".yaml");
  BUSBAR_ASSIGN(const YamlDocument document, file ? YamlDocument::load(name) : catalog.load("failures", name));
  return read_rates(document);
}

PartCounts count_parts(const spec::Cluster& cluster) {
  const topology::Topology& t = cluster.topology;
  PartCounts out{};
  std::uint64_t cpus = 0;
  std::set<std::pair<std::uint32_t, std::int16_t>> cards;
  for (std::uint32_t i = 0; i < t.device_count(); ++i) {
    const topology::DeviceId d{i};
    if (t.kind(d) == topology::DeviceKind::kCpu) ++cpus;
    if (t.kind(d) != topology::DeviceKind::kNic || t.block_of(d) == kNone<topology::BlockId> || !has_fabric(t, d))
      continue;
    const std::int16_t card = t.template_device(d).card;
    if (card < 0 || cards.emplace(index(t.block_of(d)), card).second) ++at(out, FailingPart::kNic);
  }
  at(out, FailingPart::kGpu) = t.gpus().size();
  at(out, FailingPart::kServer) = cpus > 0 ? (cpus + kCpusPerServer - 1) / kCpusPerServer : t.blocks().size();
  at(out, FailingPart::kSwitch) = t.fabric_switches().size();
  at(out, FailingPart::kCable) = fabric_cables(cluster);
  return out;
}

Interruptions interruptions_of(const FailureRates& rates, const PartCounts& parts) {
  Interruptions out;
  for (const FailureCause& cause : rates.causes) {
    const std::uint64_t n = parts[static_cast<std::size_t>(cause.part)];
    const double per_day = static_cast<double>(n) * cause.per_year / kDaysPerYear;
    out.per_day += per_day;
    if (cause.hardware) out.hardware_per_day += per_day;
    if (cause.waits) out.waiting_per_day += per_day;
    if (cause.network) out.network_per_day += per_day;
    if (cause.silent) out.silent_per_day += per_day;
    if (n > 0) out.lines.push_back({cause, n, per_day});
  }
  std::stable_sort(out.lines.begin(), out.lines.end(),
                   [](const auto& a, const auto& b) { return a.per_day > b.per_day; });
  return out;
}

}  // namespace busbar::survive
