#include "busbar/cost/bill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace busbar::cost {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

spec::PriceList catalogue_prices() { return *spec::PriceList::open(spec::Catalog(), ""); }

/// A list of the user's, from a file in the test's own folder.
Result<spec::PriceList> own_prices(const std::string& text) {
  const std::string path = testing::TempDir() + "/busbar_prices_" + std::to_string(::getpid()) + ".yaml";
  std::ofstream(path) << text;
  return spec::PriceList::open(spec::Catalog(), path);
}

Bill bill_for(const std::string& cluster, const spec::PriceList& prices = catalogue_prices()) {
  return *bill_of(*spec::load_cluster(cluster), prices);
}

std::uint64_t count_of(const Bill& bill, BillGroup group) {
  std::uint64_t n = 0;
  for (const BillLine& line : bill.lines) n += line.group == group ? line.count : 0;
  return n;
}

const BillLine& line_of(const Bill& bill, std::string_view part) {
  for (const BillLine& line : bill.lines)
    if (line.part == part) return line;
  ADD_FAILURE() << "no " << part;
  return bill.lines.front();
}

TEST(Bill, CountsTheSwitchesAndCablesOfAFatTree) {
  // N ports of the NICs, radix r = 64: two tiers have 3N/r switches and 2N cables, three tiers 5N/r and 3N.
  const Bill two = bill_for("dgx-h100:64"), three = bill_for("dgx-h100:2048");
  EXPECT_EQ(count_of(two, BillGroup::kSwitch), 3 * 512 / 64);
  EXPECT_EQ(count_of(two, BillGroup::kCable), 2 * 512);
  EXPECT_EQ(count_of(three, BillGroup::kSwitch), 5 * 16384 / 64);
  EXPECT_EQ(count_of(three, BillGroup::kCable), 3 * 16384);
  EXPECT_EQ(count_of(three, BillGroup::kServer), 2048);
  EXPECT_EQ(three.gpus, 16384);
}

TEST(Bill, ATwinPortModuleServesTwoEnds) {
  const std::string optics = "{network: infiniband-ndr, kind: rail-optimised, cable: {parts: [osfp-800g-twin]}}";
  const Bill bill = bill_for("{node: dgx-h100, nodes: 64, fabric: " + optics + "}");
  EXPECT_EQ(line_of(bill, "mpo-fibre").count, 2 * 512);
  EXPECT_EQ(line_of(bill, "osfp-800g-twin").count, 2 * 512);  // 2 ends of 400 Gb/s a cable, 2 of them a module
}

TEST(Bill, ACardOfTwoPortsIsBoughtOnce) {
  const auto nics = [](const std::string& ports) {
    const Bill bill = bill_for("{node: {base: dgx-h100, ports_per_card: " + ports + "}, nodes: 3}");
    return count_of(bill, BillGroup::kNic);
  };
  const std::uint64_t others = nics("1") - 3 * 8;
  EXPECT_EQ(nics("2"), 3 * 4 + others);
}

TEST(Bill, SumsEqualTheirLines) {
  const Bill bill = bill_for("dgx-h100:64");
  const BillSums sums = sums_of(bill);
  double low = 0, watts = 0;
  for (const BillLine& line : bill.lines) {
    const auto n = static_cast<double>(line.count);
    if (line.price_in.empty()) low += line.each.usd->low * n;
    if (line.power_in.empty()) watts += *line.each.power_w * n;
  }
  EXPECT_DOUBLE_EQ(sums.all.low, low);
  EXPECT_DOUBLE_EQ(sums.power_w, watts);
  EXPECT_THAT(sums.unpriced, IsEmpty());
  EXPECT_LT(sums.network.high, sums.all.high);
}

TEST(Bill, WhatAServerContainsIsInItsPriceAndItsPower) {
  const Bill bill = bill_for("dgx-h100:64");
  const BillLine& server = line_of(bill, "dgx-h100");
  double inside_w = 0;
  for (const BillLine& line : bill.lines) {
    const bool inside = line.group == BillGroup::kGpu || line.group == BillGroup::kNic;
    EXPECT_EQ(line.power_in.empty(), !inside) << line.part;
    if (inside) EXPECT_FALSE(line.price_in.empty()) << line.part;
    if (inside || line.group == BillGroup::kServer) inside_w += line.power_in.empty() ? *line.each.power_w * 64 : 0;
  }
  EXPECT_DOUBLE_EQ(inside_w, 64 * *server.each.power_w);
  const Bill bare = bill_for("h20-8:2");  // a server without a price and a power
  EXPECT_TRUE(line_of(bare, "h20-sxm").price_in.empty());
  EXPECT_TRUE(line_of(bare, "h20-sxm").power_in.empty());
}

TEST(Bill, WhatHasNoPriceIsNamedAndLeftOut) {
  const BillSums sums = sums_of(bill_for("h20-8:2"));
  EXPECT_THAT(sums.unpriced, ElementsAre("2 x h20-8", "16 x h20-sxm"));
  EXPECT_THAT(sums.unpowered, ElementsAre("2 x h20-8"));
  EXPECT_DOUBLE_EQ(sums.all.low, sums.network.low);
}

TEST(Bill, PhotonicsDrawLessThanPluggablesOfTheSameReach) {
  const auto network_power_w = [](const std::string& fabric) {
    return sums_of(bill_for("{node: dgx-b300, nodes: 64, fabric: " + fabric + "}")).network_power_w;
  };
  const double pluggable =
      network_power_w("{network: infiniband-xdr, kind: rail-optimised, cable: {parts: [osfp-1600g]}}");
  EXPECT_LT(network_power_w("xdr-photonics-rail"), pluggable);
}

TEST(Bill, InfiniBandCostsOneAndAHalfToTwoAndAHalfTimesEthernetPerConnectedPort) {
  const auto network_usd = [](const std::string& fabric) {
    return sums_of(bill_for("{node: dgx-h100, nodes: 512, fabric: " + fabric + "}")).network.middle();
  };
  const double ratio = network_usd("ndr-rail") / network_usd("roce-400g-rail");
  EXPECT_GT(ratio, 1.5);
  EXPECT_LT(ratio, 2.5);
}

TEST(RunningCost, FollowsItsFormula) {
  Bill bill{4, {}};
  BillSums sums;
  sums.all = {kHoursPerYear * 4 * 2, kHoursPerYear * 4 * 6};  // 1 and 3 $ per GPU and hour over two years
  sums.power_w = 2000;
  const RunningCost r = running_cost(bill, sums, {0.1, 1.5, 2});
  EXPECT_DOUBLE_EQ(r.facility_power_w, 3000);
  EXPECT_DOUBLE_EQ(r.kwh_per_year, 3 * kHoursPerYear);
  EXPECT_DOUBLE_EQ(r.energy_usd_per_year, 0.3 * kHoursPerYear);
  EXPECT_DOUBLE_EQ(r.usd_per_gpu_hour.low, 1 + 0.3 / 4);
  EXPECT_DOUBLE_EQ(r.usd_per_gpu_hour.high, 3 + 0.3 / 4);
}

TEST(PriceList, TheUsersFigurePrecedesTheCatalogues) {
  const spec::PriceList prices =
      *own_prices("switches: {qm9700: {price_usd: {low: 1, high: 3}}}\nservers: {h20-8: {power: 9kW}}\n");
  const spec::PartCost qm9700 = *prices.find("switches", "QM9700"), h20 = *prices.find("servers", "h20-8");
  EXPECT_DOUBLE_EQ(qm9700.usd->middle(), 2);
  EXPECT_DOUBLE_EQ(*qm9700.power_w, 747);  // the catalogue's
  EXPECT_THAT(qm9700.source, HasSubstr("yaml:1"));
  EXPECT_DOUBLE_EQ(*h20.power_w, 9000);
  EXPECT_FALSE(h20.usd);
}

TEST(PriceList, FindsAProductByTheNameOnIt) {
  EXPECT_TRUE(catalogue_prices().find("switches", "Tomahawk 5")->usd);
  EXPECT_FALSE(catalogue_prices().find("switches", "Tomahawk 50")->usd);
}

TEST(PriceList, RefusesWhatWouldHaveNoEffect) {
  EXPECT_THAT(own_prices("switch: {qm9700: {price_usd: 1}}").error().text(), HasSubstr("switches"));
  EXPECT_THAT(own_prices("switches: {qm9700: {price: 1}}").error().text(), HasSubstr("price_usd"));
  EXPECT_THAT(own_prices("switches: {qm9700: {price_usd: -1}}").error().text(), HasSubstr("price_usd"));
  EXPECT_THAT(own_prices("switches: {qm9700: {price_usd: {low: 3, high: 1}}}").error().text(), HasSubstr("lower"));
  EXPECT_THAT(own_prices("switches: {qm9700: {power: 3}}").error().text(), HasSubstr("17W"));
  EXPECT_THAT(own_prices("switches: 3").error().text(), HasSubstr("expected products"));
}

}  // namespace
}  // namespace busbar::cost
