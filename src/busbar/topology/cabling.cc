#include "busbar/topology/cabling.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

namespace busbar {
namespace {

bool is_cable(const Topology& t, LinkId l) {
  const LinkKind kind = t.link_class(l).kind;
  return is_fabric(kind) && kind != LinkKind::kIdeal;
}

/// The rack of every device that fabric cables touch. Links of lower tiers come first (the builders lay them in that
/// order), so what hangs below a switch has its place when the switch's turn comes.
class Racks {
 public:
  Racks(const Topology& t, const CablingRules& rules) : topology_(t), per_rack_(std::max(1u, rules.nodes_per_rack)) {
    sum_.assign(t.device_count(), 0);
    count_.assign(t.device_count(), 0);
    for (std::uint32_t l = 0; l < t.link_count(); l += 2) {
      const auto link = static_cast<LinkId>(l);
      if (!is_cable(t, link)) continue;
      const DeviceId low = t.from(link), high = t.to(link);  // builders connect upwards
      if (t.kind(low) == t.kind(high)) continue;             // a group's or a torus's own cables move nobody
      sum_[index(high)] += rack(low);
      ++count_[index(high)];
    }
  }
  std::uint32_t rack(DeviceId d) const {
    if (const BlockId b = topology_.block_of(d); b != kNone<BlockId>) return index(b) / per_rack_;
    const std::uint32_t n = count_[index(d)];
    return n == 0 ? 0 : static_cast<std::uint32_t>((sum_[index(d)] + n / 2) / n);
  }

 private:
  const Topology& topology_;
  std::uint32_t per_rack_;
  std::vector<std::uint64_t> sum_;
  std::vector<std::uint32_t> count_;
};

double length_m(std::uint32_t a, std::uint32_t b, const CablingRules& r) {
  if (a == b) return r.in_rack_m;
  const auto apart = [](std::uint32_t x, std::uint32_t y) { return static_cast<double>(x > y ? x - y : y - x); };
  const std::uint32_t row = std::max(1u, r.racks_per_row);
  return 2 * r.riser_m + apart(a % row, b % row) * r.rack_m + apart(a / row, b / row) * r.row_m;
}

}  // namespace

const char* name_of(Medium medium) {
  switch (medium) {
    case Medium::kCopper:
      return "copper";
    case Medium::kMultiMode:
      return "multi-mode";
    case Medium::kSingleMode:
      return "single-mode";
  }
  return "?";
}

std::vector<Cable> lay_cables(const Topology& t, const CablingRules& rules) {
  const Racks racks(t, rules);
  std::vector<Cable> out;
  for (std::uint32_t l = 0; l < t.link_count(); l += 2) {
    const auto link = static_cast<LinkId>(l);
    if (!is_cable(t, link)) continue;
    const double metres = length_m(racks.rack(t.from(link)), racks.rack(t.to(link)), rules);
    out.push_back({link, metres,
                   metres <= rules.copper_m       ? Medium::kCopper
                   : metres <= rules.multi_mode_m ? Medium::kMultiMode
                                                  : Medium::kSingleMode});
  }
  return out;
}

CablingSums sum_of(const Topology& t, const std::vector<Cable>& cables, const CablingRules& rules) {
  CablingSums s;
  for (const Cable& c : cables) {
    s.length_m += c.length_m;
    ++(c.medium == Medium::kCopper ? s.copper : c.medium == Medium::kMultiMode ? s.multi_mode : s.single_mode);
    if (c.medium == Medium::kCopper) continue;
    s.optics += 2;
    s.optic_power_w += 2 * rules.optic_power_w * static_cast<double>(per_second(t.link_class(c.link).wire_rate)) /
                       static_cast<double>(per_second(rules.optic_rate));
  }
  return s;
}

std::string cabling_csv(const Topology& t, const std::vector<Cable>& cables) {
  constexpr double kBitsPerByte = 8, kGiga = 1e9;
  std::string out = "from,to,length_m,medium,rate_Gbps\n";
  for (const Cable& c : cables) {
    const double rate = static_cast<double>(per_second(t.link_class(c.link).wire_rate)) * kBitsPerByte / kGiga;
    fmt::format_to(std::back_inserter(out), "{},{},{:.1f},{},{:g}\n", t.name(t.from(c.link)), t.name(t.to(c.link)),
                   c.length_m, name_of(c.medium), rate);
  }
  return out;
}

}  // namespace busbar
