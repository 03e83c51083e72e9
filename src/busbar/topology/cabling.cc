#include "busbar/topology/cabling.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "busbar/topology/tiers.h"

namespace busbar::topology {
namespace {

bool is_cable(const Topology& t, LinkId l) {
  const LinkKind kind = t.link_class(l).kind;
  return is_fabric(kind) && kind != LinkKind::kIdeal;
}

/// The rack of every device with fabric cables. Links of lower tiers come first (builders add them in that order), so
/// the devices below a switch have a place before the switch gets one.
class Racks {
 public:
  Racks(const Topology& t, const CablingRules& rules) : topology_(t), rules_(rules) {
    sum_.assign(t.device_count(), 0);
    count_.assign(t.device_count(), 0);
    const std::vector<std::uint8_t> tiers = switch_tiers(t);
    for (std::uint32_t l = 0; l < t.link_count(); l += 2) {
      const auto link = static_cast<LinkId>(l);
      if (!is_cable(t, link)) continue;
      const DeviceId low = t.from(link), high = t.to(link);   // builders connect upwards
      if (tiers[index(low)] == tiers[index(high)]) continue;  // cables inside a group or torus move no switch
      sum_[index(high)] += rack(low);
      ++count_[index(high)];
    }
  }
  std::uint32_t rack(DeviceId d) const {
    if (const BlockId b = topology_.block_of(d); b != kNone<BlockId>) return of_block(index(b));
    const std::uint32_t n = count_[index(d)];
    return n == 0 ? 0 : static_cast<std::uint32_t>((sum_[index(d)] + n / 2) / n);
  }

 private:
  std::uint32_t of_block(std::uint32_t block) const {
    const std::uint32_t wide = std::max(1u, rules_.racks_per_node);
    return wide > 1 ? block * wide + wide / 2 : block / std::max(1u, rules_.nodes_per_rack);
  }
  const Topology& topology_;
  const CablingRules& rules_;
  std::vector<std::uint64_t> sum_;
  std::vector<std::uint32_t> count_;
};

double length_m(std::uint32_t a, std::uint32_t b, const CablingRules& r) {
  if (a == b) return r.in_rack_m;
  const auto apart = [](std::uint32_t x, std::uint32_t y) { return static_cast<double>(x > y ? x - y : y - x); };
  const std::uint32_t row = std::max(1u, r.racks_per_row);
  return 2 * r.riser_m + apart(a % row, b % row) * r.rack_m + apart(a / row, b / row) * r.row_m;
}

/// The first part from `at` on that reaches; `parts.size()` if none does.
std::uint16_t first_reaching(const CablingRules& rules, double metres, std::uint16_t at) {
  while (at < rules.parts.size() && rules.parts[at].reach_m < metres) ++at;
  return at;
}

double share_of_module(const Topology& t, const Cable& c, const CablePart& part) {
  return static_cast<double>(per_second(t.link_class(c.link).wire_rate)) / static_cast<double>(per_second(part.rate));
}

bool is_pluggable_optic(Medium m) { return m == Medium::kMultiMode || m == Medium::kSingleMode; }

}  // namespace

const char* name_of(Medium medium) {
  constexpr const char* kNames[] = {"copper", "multi-mode", "single-mode", "co-packaged"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Medium::kCoPackaged) + 1);
  return kNames[static_cast<std::size_t>(medium)];
}

void take_lengths(TopologyBuilder& builder, const CablingRules& rules, Duration per_m) {
  constexpr double kFinest = 0.1;      // m: the precision of the printed list of cables
  constexpr double kMostSteps = 2048;  // so the link classes suffice for any hall
  const Topology& t = builder.peek();
  const Racks racks(t, rules);
  std::vector<std::pair<LinkId, double>> cables;
  double longest = 0;
  for (std::uint32_t l = 0; l < t.link_count(); l += 2) {
    const auto link = static_cast<LinkId>(l);
    const LinkClass& c = t.link_class(link);
    if (!is_cable(t, link) || c.latency_parts.sum() != c.latency) continue;  // a single figure has no cable part
    cables.emplace_back(link, length_m(racks.rack(t.from(link)), racks.rack(t.to(link)), rules));
    longest = std::max(longest, cables.back().second);
  }
  const double step = std::max(kFinest, longest / kMostSteps);
  std::map<std::pair<std::uint16_t, std::int64_t>, LinkClassId> classes;  // old class, length in steps -> new class
  for (const auto& [link, metres] : cables) {
    const std::int64_t steps = std::llround(metres / step);
    const auto [it, fresh] = classes.try_emplace({t.link_class_index(link), steps});
    if (fresh) {
      LinkClass c = t.link_class(link);
      const double ps = static_cast<double>(per_m.in_ps()) * step * static_cast<double>(steps);
      c.latency_parts.cable = Duration::ps(std::llround(ps));
      c.latency = c.latency_parts.sum();
      it->second = builder.add_link_class(c);
    }
    builder.relabel(link, it->second);
  }
}

std::vector<Cable> lay_cables(const Topology& t, const CablingRules& rules) {
  BUSBAR_CHECK(!rules.parts.empty()) << "no cables to choose from";
  const Racks racks(t, rules);
  const auto last = static_cast<std::uint16_t>(rules.parts.size() - 1);
  std::vector<Cable> out;
  for (std::uint32_t l = 0; l < t.link_count(); l += 2) {
    const auto link = static_cast<LinkId>(l);
    if (!is_cable(t, link)) continue;
    Cable c;
    c.link = link;
    c.length_m = length_m(racks.rack(t.from(link)), racks.rack(t.to(link)), rules);
    std::uint16_t part = first_reaching(rules, c.length_m, 0);
    c.reaches = part <= last;
    c.part[0] = c.part[1] = std::min(part, last);
    const bool nic = t.block_of(t.from(link)) != kNone<BlockId>;
    while (nic && part < last && rules.parts[part].medium == Medium::kCoPackaged)
      c.part[0] = std::min(part = first_reaching(rules, c.length_m, part + 1), last);
    out.push_back(c);
  }
  return out;
}

CablingSums sum_of(const Topology& t, const std::vector<Cable>& cables, const CablingRules& rules) {
  CablingSums s;
  s.parts.resize(rules.parts.size());
  std::vector<double> modules(rules.parts.size());
  for (const Cable& c : cables) {
    ++s.cables;
    s.length_m += c.length_m;
    s.too_long += c.reaches ? 0 : 1;
    CablePartSum& upper = s.parts[c.part[1]];
    ++upper.cables;
    upper.length_m += c.length_m;
    upper.longest_m = std::max(upper.longest_m, c.length_m);
    for (const std::uint16_t p : c.part) {
      const double power = rules.parts[p].power_w * share_of_module(t, c, rules.parts[p]);
      ++s.parts[p].ends;
      s.parts[p].power_w += power;
      s.power_w += power;
      modules[p] += share_of_module(t, c, rules.parts[p]);
    }
  }
  for (std::size_t p = 0; p < modules.size(); ++p) {
    s.parts[p].modules = static_cast<std::uint32_t>(std::ceil(modules[p] - 1e-9));
    if (is_pluggable_optic(rules.parts[p].medium)) s.transceivers += s.parts[p].modules;
  }
  return s;
}

std::string cabling_csv(const Topology& t, const std::vector<Cable>& cables, const CablingRules& rules) {
  constexpr double kBitsPerByte = 8;
  std::string out = "from,to,length_m,medium,part,rate_Gbps\n";
  for (const Cable& c : cables) {
    const double rate = static_cast<double>(per_second(t.link_class(c.link).wire_rate)) * kBitsPerByte / kGiga;
    const CablePart &low = rules.parts[c.part[0]], &high = rules.parts[c.part[1]];
    out += fmt::format("{},{},{:.1f},{},{},{:g}\n", t.name(t.from(c.link)), t.name(t.to(c.link)), c.length_m,
                       name_of(high.medium), low == high ? high.name : low.name + "+" + high.name, rate);
  }
  return out;
}

}  // namespace busbar::topology
