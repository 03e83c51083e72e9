// The parts of a machine with their prices and powers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/spec/cluster.h"
#include "busbar/spec/price_list.h"

namespace busbar::cost {

enum class BillGroup : std::uint8_t { kServer, kGpu, kNic, kSwitch, kOptics, kCable };
const char* name_of(BillGroup group);  ///< "server", "GPU", "NIC", "switch", "optics", "cable"

struct BillLine {
  BillGroup group{};
  std::string part;         ///< catalogue name or the name on the product
  std::string tier;         ///< of switches: "leaf"
  std::uint64_t count = 0;  ///< as they are sold: both ends of a copper cable are one
  spec::PartCost each;
  std::string price_in, power_in;  ///< "server": its price, or power, is in the server's; empty: counted here
  double length_m = 0;             ///< of cables and fibres, all together
  bool no_price() const { return price_in.empty() && !each.usd; }
  bool no_power() const { return power_in.empty() && !each.power_w; }
};

struct BillSums {
  bool complete() const { return unpriced.empty(); }
  spec::PriceRange all, network;  ///< $, every price at its low or its high end; of the lines with a price
  double power_w = 0;             ///< ratings of the lines with a power
  double network_power_w = 0;
  std::vector<std::string> unpriced, unpowered;  ///< "36 x sn5400", left out of the sums
};

struct Bill {
  std::uint64_t gpus = 0;
  std::vector<BillLine> lines;
};

/// Servers by kind, then GPUs and NICs, switches by tier, and cables as lay_cables() lays them. A server with a price
/// (power) in the list includes its GPUs and NICs; those of other servers are counted apart.
/// Optical modules: the rate of all ends over the rate of a module, rounded up, so a twin-port module serves two ends.
Result<Bill> bill_of(const spec::Cluster& cluster, const spec::PriceList& prices);

/// Network: NICs that are not in a server's price, switches, optics and cables.
BillSums sums_of(const Bill& bill);

/// Prices of power, and the years over which a machine loses its value.
struct CostTerms {
  double usd_per_kwh = 0;
  double pue = 1;    ///< power of the building over that of the machine
  double years = 1;  ///< until the machine is worth nothing
};
struct RunningCost {
  double facility_power_w = 0, kwh_per_year = 0, energy_usd_per_year = 0;
  spec::PriceRange usd_per_gpu_hour;  ///< purchase over all hours of `years`, and electricity
};
inline constexpr double kHoursPerYear = 8766;  ///< 365.25 days
RunningCost running_cost(const Bill& bill, const BillSums& sums, const CostTerms& terms);

}  // namespace busbar::cost
