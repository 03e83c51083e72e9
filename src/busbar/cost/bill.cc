#include "busbar/cost/bill.h"

#include <fmt/core.h>

#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "busbar/topology/tiers.h"

namespace busbar::cost {
namespace {

constexpr const char* kFolders[] = {"servers", "gpus", "nics", "switches", "optics", "cables"};
constexpr const char* kInServer = "server";
constexpr const char* kInSwitch = "switch";
constexpr const char* kFibre = "mpo-fibre";  // catalog/cables: joins two optical ends that are sold without fibre

class BillMaker {
 public:
  BillMaker(const spec::Cluster& cluster, const spec::PriceList& prices)
      : c_(cluster), t_(cluster.topology), prices_(prices) {}
  Result<Bill> make() {
    bill_.gpus = t_.gpus().size();
    BUSBAR_RETURN_IF_ERROR(add_servers());
    BUSBAR_RETURN_IF_ERROR(add_switches());
    if (!c_.cabling.parts.empty()) BUSBAR_RETURN_IF_ERROR(add_cables());
    return std::move(bill_);
  }

 private:
  Result<BillLine*> add(BillGroup group, const std::string& part, std::uint64_t count) {
    BillLine line{group, part.empty() ? "unnamed" : part, "", count, {}, "", "", 0};
    BUSBAR_ASSIGN(line.each, prices_.find(kFolders[static_cast<std::size_t>(group)], part));
    bill_.lines.push_back(std::move(line));
    return &bill_.lines.back();
  }

  /// GPUs and NIC cards of one node, by part. Ports of one card count once.
  static std::map<std::pair<BillGroup, std::string>, std::uint64_t> parts_of(const topology::NodeTemplate& node) {
    std::map<std::pair<BillGroup, std::string>, std::uint64_t> out;
    std::set<std::int16_t> cards;
    for (const topology::TemplateDevice& d : node.devices) {
      const topology::DeviceKind kind = d.device_class.kind;
      if (kind == topology::DeviceKind::kGpu) ++out[{BillGroup::kGpu, d.device_class.part}];
      if (kind == topology::DeviceKind::kNic && (d.card < 0 || cards.insert(d.card).second))
        ++out[{BillGroup::kNic, d.device_class.part}];
    }
    return out;
  }

  Status add_servers() {
    std::map<std::uint32_t, std::uint64_t> nodes;  // per template
    for (const topology::Block& b : t_.blocks()) ++nodes[b.template_index];
    for (const auto& [index, count] : nodes) {
      const topology::NodeTemplate& node = t_.templates()[index];
      BUSBAR_ASSIGN(BillLine * server, add(BillGroup::kServer, node.name, count));
      const bool priced = !server->no_price(), powered = !server->no_power();
      for (const auto& [part, each] : parts_of(node)) {
        BUSBAR_ASSIGN(BillLine * line, add(part.first, part.second, each * count));
        if (priced) line->price_in = kInServer;
        if (powered) line->power_in = kInServer;
      }
    }
    return {};
  }

  Status add_switches() {
    const std::vector<std::uint8_t> tiers = topology::switch_tiers(t_);
    std::map<std::pair<std::uint8_t, std::string>, std::uint64_t> switches;
    for (const topology::DeviceId d : t_.fabric_switches()) ++switches[{tiers[index(d)], t_.device_class(d).part}];
    for (const auto& [key, count] : switches) {
      BUSBAR_ASSIGN(BillLine * line, add(BillGroup::kSwitch, key.second, count));
      line->tier = topology::tier_name(key.first);
    }
    return {};
  }

  Status add_cables() {
    const std::vector<topology::CablePart>& parts = c_.cabling.parts;
    const topology::CablingSums sums = topology::sum_of(t_, topology::lay_cables(t_, c_.cabling), c_.cabling);
    std::uint64_t fibres = 0;
    double fibres_m = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const topology::CablePartSum& sum = sums.parts[i];
      if (sum.modules == 0) continue;
      BUSBAR_ASSIGN(BillLine * line, add(BillGroup::kOptics, parts[i].name, sum.modules));
      line->each.power_w = parts[i].power_w;
      if (line->each.sold_as_cable) {
        line->group = BillGroup::kCable;
        line->count = sum.cables;
        line->length_m = sum.length_m;
        line->each.power_w = parts[i].power_w * sum.modules / sum.cables;
        continue;
      }
      if (parts[i].medium == topology::Medium::kCoPackaged) line->price_in = kInSwitch;
      fibres += sum.cables;
      fibres_m += sum.length_m;
    }
    if (fibres == 0) return {};
    BUSBAR_ASSIGN(BillLine * line, add(BillGroup::kCable, kFibre, fibres));
    line->length_m = fibres_m;
    line->each.power_w = 0;
    return {};
  }

  const spec::Cluster& c_;
  const topology::Topology& t_;
  const spec::PriceList& prices_;
  Bill bill_;
};

void add(spec::PriceRange& sum, const spec::PriceRange& each, double count) {
  sum.low += each.low * count;
  sum.high += each.high * count;
}

}  // namespace

const char* name_of(BillGroup group) {
  constexpr const char* kNames[] = {"server", "GPU", "NIC", "switch", "optics", "cable"};
  static_assert(std::size(kNames) == std::size(kFolders));
  return kNames[static_cast<std::size_t>(group)];
}

Result<Bill> bill_of(const spec::Cluster& cluster, const spec::PriceList& prices) {
  return BillMaker(cluster, prices).make();
}

BillSums sums_of(const Bill& bill) {
  BillSums out;
  for (const BillLine& line : bill.lines) {
    const auto count = static_cast<double>(line.count);
    const bool network = line.group >= BillGroup::kNic;
    if (line.no_price()) out.unpriced.push_back(fmt::format("{} x {}", line.count, line.part));
    if (line.no_power()) out.unpowered.push_back(fmt::format("{} x {}", line.count, line.part));
    if (line.price_in.empty() && line.each.usd) {
      add(out.all, *line.each.usd, count);
      if (network) add(out.network, *line.each.usd, count);
    }
    if (line.power_in.empty() && line.each.power_w) {
      out.power_w += *line.each.power_w * count;
      if (network) out.network_power_w += *line.each.power_w * count;
    }
  }
  return out;
}

RunningCost running_cost(const Bill& bill, const BillSums& sums, const CostTerms& terms) {
  constexpr double kWattsPerKilowatt = 1e3;
  RunningCost out;
  out.facility_power_w = sums.power_w * terms.pue;
  out.kwh_per_year = out.facility_power_w * kHoursPerYear / kWattsPerKilowatt;
  out.energy_usd_per_year = out.kwh_per_year * terms.usd_per_kwh;
  const double hours = static_cast<double>(bill.gpus) * terms.years * kHoursPerYear;
  if (hours <= 0) return out;
  const double energy = out.energy_usd_per_year * terms.years;
  out.usd_per_gpu_hour = {(sums.all.low + energy) / hours, (sums.all.high + energy) / hours};
  return out;
}

}  // namespace busbar::cost
