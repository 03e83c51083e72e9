#include "busbar/accuracy/fault_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "busbar/accuracy/internal/nuisance_fit.h"
#include "busbar/topology/selector.h"

namespace busbar::accuracy {
namespace {

/// Times of a machine that differs from its preset.
MeasuredResults times_of_twin(const ExpectOptions& o, const spec::Overrides& changes, std::uint64_t from = 1 << 16) {
  const auto machine = predictor_of(o, changes).value();
  MeasuredResults out;
  for (std::uint64_t size = from; size <= (std::uint64_t{4} << 30); size *= 4)
    out.rows.push_back(
        {size, machine->time(predict::call_over(o.op, Bytes{size}, machine->ranks()), predict::kTimeAlone)
                   .value()
                   .time.in_us()});
  return out;
}

FaultSearchResult found_for(const ExpectOptions& o, const MeasuredResults& results) {
  return search_faults(expect_results(results, o).value().rows, o).value();
}

bool names(const Culprit& c, std::string_view part) {
  for (const Suspect& s : c.faults)
    if (std::find(s.alike.begin(), s.alike.end(), part) != s.alike.end()) return true;
  return false;
}

const Suspect* suspect_of(const std::vector<Suspect>& all, std::string_view rule) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const Suspect& s) { return s.rule == rule; });
  return at == all.end() ? nullptr : &*at;
}

TEST(Suspects, EqualPartsAreOneClassAndEverySelectorNamesCables) {
  const topology::Topology t = spec::load_cluster("dgx-h100:4").value().topology;
  const std::vector<Suspect> all = single_parts(t);
  const std::pair<const char*, std::size_t> counts[] = {{"slow-node", 4},      {"slow-nic", 32}, {"slow-cable", 32},
                                                        {"slow-nic-slot", 32}, {"slow-gpu", 32}, {"slow-gpu-slot", 32}};
  for (const auto& [rule, count] : counts) {
    ASSERT_NE(suspect_of(all, rule), nullptr) << rule;
    EXPECT_EQ(suspect_of(all, rule)->alike.size(), count) << rule;
  }
  for (const Suspect& s : all)
    for (const std::string& part : s.alike) EXPECT_TRUE(topology::select_cables(t, part).ok()) << part;
}

TEST(Suspects, AServerAloneHasNoSuspectsOfTheNetwork) {
  const spec::Cluster c = spec::load_cluster("dgx-h100").value();
  EXPECT_EQ(suspect_of(single_parts(c.topology), "slow-nic"), nullptr);
  EXPECT_EQ(suspect_of(whole_machine_faults(c), "tcp-fallback"), nullptr);
}

TEST(FaultSearch, FindsPeersThatCannotReachEachOtherAlthoughSwitchesReduce) {
  ExpectOptions o;
  o.cluster = "dgx-h100";
  MeasuredResults slow = times_of_twin(o, {}, 1 << 20);
  for (MeasuredResult& r : slow.rows)  // 14 GB/s over host memory
    r.us = std::max(r.us, 15 + static_cast<double>(r.size_bytes) * 1.75 / 14e3);
  const FaultSearchResult found = found_for(o, slow);
  ASSERT_FALSE(found.ranked.empty());
  EXPECT_EQ(found.ranked.front().faults.front().rule, "p2p-disabled");
}

TEST(FaultSearch, SaysThatTimesScatterIfNoCurveJoinsThem) {
  ExpectOptions o;
  o.cluster = "dgx-h100:2";
  MeasuredResults lossy = times_of_twin(o, {}, 1 << 18);
  const double factors[] = {1, 1, 4, 1.2, 6, 1.5, 5, 1.1, 4};
  for (std::size_t i = 0; i < lossy.rows.size(); ++i) lossy.rows[i].us *= factors[i];
  const FaultSearchResult found = found_for(o, lossy);
  ASSERT_FALSE(found.ranked.empty());
  EXPECT_THAT(found.ranked.front().faults.front().words, testing::HasSubstr("scatter"));
}

/// A table by formula: its small sizes differ smoothly from the prediction, as those of a real machine do.
MeasuredResults times_by_formula(double latency_us, double busbw_GBps) {
  MeasuredResults out;
  for (std::uint64_t size = 8; size <= std::uint64_t{8} << 30; size *= 2) {
    const double hump = 1 + 0.35 * std::exp(-std::pow((std::log2(size) - 22) / 3, 2));
    out.rows.push_back({size, hump * (latency_us + static_cast<double>(size) * 1.875 / busbw_GBps / 1e3)});
  }
  return out;
}

TEST(FaultSearch, ARateIsARateAlthoughSmallSizesDifferFromThePrediction) {
  ExpectOptions o;
  o.cluster = "dgx-h100:2";
  const FaultSearchResult half = found_for(o, times_by_formula(35, 245));
  EXPECT_TRUE(half.told && half.fits);
  EXPECT_THAT(half.ranked.front().faults.front().rule, testing::AnyOf("fabric-misconfigured", "single-rail"));
  EXPECT_THAT(half.ranked.front().faults.front().words, testing::Not(testing::HasSubstr("scatter")));
  const FaultSearchResult sockets = found_for(o, times_by_formula(80, 4.6));
  EXPECT_TRUE(sockets.named);
  EXPECT_EQ(sockets.ranked.front().faults.front().rule, "tcp-fallback");
}

TEST(FaultSearch, OneNicForAllAndSlowNicsAreNotToldApartByTheirRateAlone) {
  ExpectOptions o;
  o.cluster = "dgx-h100:2";
  const FaultSearchResult found = found_for(o, times_by_formula(35, 60));
  EXPECT_FALSE(found.named);
  const auto has = [](const Culprit& c, std::string_view rule) {
    return std::any_of(c.faults.begin(), c.faults.end(), [&](const Suspect& s) { return s.rule == rule; });
  };
  ASSERT_GE(found.ranked.size(), 2);
  EXPECT_TRUE(has(found.ranked[0], "single-rail") || has(found.ranked[1], "single-rail"));
}

double confidence_of(const FaultSearchResult& found, std::string_view rule) {
  for (const Culprit& c : found.ranked)
    for (std::size_t i = 0; i < c.faults.size(); ++i)
      if (c.faults[i].rule == rule) return c.confidences[i];
  return 0;
}

TEST(FaultSearch, AFittedRateOfTheHostCostsLikeAnyOtherRate) {
  ExpectOptions o;
  o.cluster = "dgx-h100:2";
  const FaultSearchResult found = found_for(o, times_by_formula(35, 118));
  EXPECT_LT(confidence_of(found, "single-rail"), 2.5 * confidence_of(found, "fabric-misconfigured"));
}

TEST(FaultSearch, NoLinkBetweenGpusIsNamedAtARateThatItsLanesDoNotHave) {
  ExpectOptions o;
  o.cluster = "dgx-1v";
  MeasuredResults slow = times_of_twin(o, {}, 1 << 20);
  for (MeasuredResult& r : slow.rows) r.us = std::max(r.us, 15 + static_cast<double>(r.size_bytes) * 1.75 / 19e3);
  EXPECT_FALSE(found_for(o, slow).named);
}

TEST(NuisanceFit, AValueFarFromItsWidthCosts) {
  const std::vector<double> noise{0.03}, slow{0.05};
  // 0.05 = value + error: both as normal as they can be together.
  EXPECT_NEAR(least_squares(slow, noise, std::vector<Nuisance>{{{1}, -1, 1, 0.04}}), 1, 1e-6);
}

TEST(NuisanceFit, TakesUpWhatIsInItsRangeAndNoMore) {
  const std::vector<double> noise{0.03, 0.03}, slow{0.05, 0.05}, slower{0.15, 0.15};
  const std::vector<Nuisance> links{{{-1, -1}, -0.08, 0.08}};
  EXPECT_NEAR(least_squares(slow, noise, links), 0, 1e-9);
  EXPECT_NEAR(least_squares(slower, noise, links), 2 * std::pow(0.07 / 0.03, 2), 1e-6);
  const std::vector<Nuisance> two{{{-1, -1}, -0.08, 0.08}, {{1, 0}, -1, 1}};
  EXPECT_NEAR(least_squares(std::vector{0.5, 0.05}, noise, two), 0, 1e-4);
}

TEST(FaultSearch, NamesTheClassOfOneSlowCable) {
  ExpectOptions o;
  o.cluster = "dgx-h100:2";
  o.overrides.set = {"routing=static"};  // adaptive routes go around it, and times tell less
  o.op = collectives::Collective::kAllGather;
  const FaultSearchResult found =
      found_for(o, times_of_twin(o, {.set = {"routing=static"}, .degrade = {"node1.nic3-leaf3=0.3"}}));
  ASSERT_FALSE(found.ranked.empty());
  EXPECT_TRUE(found.told);
  EXPECT_TRUE(names(found.ranked[0], "node1.nic3-leaf3"));
  EXPECT_FALSE(next_measurements(found).empty());
}

TEST(FaultSearch, CannotTellOnASoundMachine) {
  ExpectOptions o;
  o.cluster = "dgx-a100:2";
  MeasuredResults results = times_of_twin(o, {});
  for (MeasuredResult& r : results.rows) r.us *= 1.05;
  const FaultSearchResult found = found_for(o, results);
  EXPECT_FALSE(found.told);
  EXPECT_GT(found.sound_confidence, 0.01);
}

TEST(FaultSearch, NamesASwitchThatDoesNotReduce) {
  ExpectOptions o;
  o.cluster = "dgx-h100";
  ExpectOptions ring = o;
  ring.policy.env = {"NCCL_NVLS_ENABLE=0"};
  const FaultSearchResult found = found_for(o, times_of_twin(ring, {}));
  ASSERT_FALSE(found.ranked.empty());
  EXPECT_TRUE(found.told);
  EXPECT_EQ(found.ranked[0].faults[0].rule, "nvls-off");
}

// In NCCL's trees GPU 3 of a node is the last one, which passes nothing on.
TEST(FaultSearch, EqualPartsAtOtherPlacesOfTheTreesAreClassesOfTheirOwn) {
  ExpectOptions o;
  o.cluster = "a100-pcie:2";
  const FaultSearchResult found = found_for(o, times_of_twin(o, {.degrade = {"node0.gpu3=0.25"}}));
  ASSERT_FALSE(found.ranked.empty());
  EXPECT_TRUE(names(found.ranked[0], "node0.gpu3"));
  EXPECT_FALSE(names(found.ranked[0], "node0.gpu0"));
}

TEST(FaultSearch, ANetworkCollapsesWhereItsBandwidthFallsAndNotWhereItStaysLow) {
  ExpectOptions o;
  o.cluster = "dgx-h100:2";
  MeasuredResults results = times_of_twin(o, {});
  for (MeasuredResult& r : results.rows) r.us *= r.size_bytes < (64u << 20) ? 3 : 40;
  const FaultSearchResult found = found_for(o, results);
  ASSERT_FALSE(found.ranked.empty());
  EXPECT_TRUE(found.ranked[0].faults[0].words.starts_with("the network collapses at 64 MiB and more"));
  ExpectOptions sockets = o;
  sockets.policy.env = {"NCCL_IB_DISABLE=1"};
  EXPECT_EQ(found_for(o, times_of_twin(sockets, {})).ranked[0].faults[0].rule, "tcp-fallback");
}

}  // namespace
}  // namespace busbar::accuracy
