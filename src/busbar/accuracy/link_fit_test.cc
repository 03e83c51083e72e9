#include "busbar/accuracy/link_fit.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "busbar/accuracy/calibrate.h"
#include "busbar/routing/path_view.h"

namespace busbar::accuracy {
namespace {

using ::testing::HasSubstr;
using Kind = LinkTest::Kind;

routing::PathView path_of(const spec::Cluster& c, topology::DeviceId from, topology::DeviceId to) {
  const routing::Router router(c.topology, c.routing, c.seed);
  return routing::view_route(router, from, to, {c.gpudirect, c.p2p, false}).value();
}

double pair_GBps(const spec::Cluster& c, std::size_t a, std::size_t b) {
  return path_of(c, c.topology.gpus()[a], c.topology.gpus()[b]).payload_GBps;
}

LinkTest nic_value(Kind kind, double value) {
  LinkTest out;
  out.kind = kind;
  out.what = "test";
  out.at = {"nic.txt", 5, 6, "2026-11-20"};
  out.value = value;
  return out;
}

/// The machine's own rates between the GPUs of its first node, times `factor`.
LinkTest pairs_of(const char* cluster, double factor) {
  const spec::Cluster c = spec::load_cluster(cluster).value();
  LinkTest out = nic_value(Kind::kPairRates, 0);
  const std::size_t n = std::min<std::size_t>(c.topology.gpus().size(), 8);
  out.pairs.assign(n, std::vector<double>(n, 0));
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b)
      if (a != b) out.pairs[a][b] = factor * pair_GBps(c, a, b);
  return out;
}

LinkFit fit_of(const std::vector<LinkTest>& tests, const char* cluster) {
  return fit_links(tests, cluster, {}).value();
}

spec::Cluster with_set(const char* cluster, const std::vector<std::string>& set) {
  spec::Overrides overrides;
  overrides.set = set;
  return spec::load_cluster(cluster, overrides).value();
}

TEST(LinkFit, PairsOfTheFittedMachineAreAsMeasured) {
  for (const char* cluster : {"dgx-a100", "dgx-h100", "mi300x-8", "dgx-1v", "dgx-h100:4"}) {
    SCOPED_TRACE(cluster);
    const LinkTest test = pairs_of(cluster, 0.9);
    const LinkFit fit = fit_of({test}, cluster);
    ASSERT_FALSE(fit.figures.empty()) << fit.tables[0].unused[0].why;
    EXPECT_NEAR(fit.figures[0].after / fit.figures[0].before, 0.9, 1e-6);
    const spec::Cluster fitted = with_set(cluster, fit.set);
    EXPECT_NEAR(pair_GBps(fitted, 0, 1) / test.pairs[0][1], 1, 1e-3);
    EXPECT_NEAR(pair_GBps(fitted, 2, 3) / test.pairs[2][3], 1, 1e-3);
  }
}

TEST(LinkFit, TheSourceOfAFigureIsInTheFile) {
  const LinkFit fit = fit_of({pairs_of("dgx-a100", 0.9)}, "dgx-a100");
  EXPECT_EQ(fit.figures[0].source, "nic.txt, lines 5 to 6, measured on 2026-11-20");
  EXPECT_THAT(fit.set, testing::Contains(HasSubstr("efficiency_source=\"nic.txt, lines 5 to 6")));
}

TEST(LinkFit, ANicAndItsLatencyAreAsMeasured) {
  const LinkFit fit = fit_of({nic_value(Kind::kNicRate, 40), nic_value(Kind::kNicLatency, 4)}, "dgx-h100:2");
  ASSERT_EQ(fit.figures.size(), 2u);
  const spec::Cluster c = with_set("dgx-h100:2", fit.set);
  const routing::Router router(c.topology, c.routing, c.seed);
  const auto gpus = c.topology.gpus();
  EXPECT_NEAR(path_of(c, gpus[0], gpus[8]).payload_GBps, 40, 0.01);
  const auto memory = [&](std::size_t g) { return routing::nearest_memory(router, gpus[g]); };
  EXPECT_NEAR(path_of(c, memory(0), memory(8)).latency.in_us(), 4, 0.01);
}

// Less than slots, switches and cables take in the catalogue: NICs and slots become shorter by one factor.
TEST(LinkFit, AShortLatencyMakesNicsAndSlotsShorter) {
  const LinkFit fit = fit_of({nic_value(Kind::kNicLatency, 1.4)}, "dgx-h100:2");
  ASSERT_GE(fit.figures.size(), 2u) << fit.tables[0].unused[0].why;
  for (const FittedFigure& f : fit.figures)
    EXPECT_NEAR(f.after / f.before, fit.figures[0].after / fit.figures[0].before, 1e-6) << f.what;
  const spec::Cluster c = with_set("dgx-h100:2", fit.set);
  const routing::Router router(c.topology, c.routing, c.seed);
  const auto memory = [&](std::size_t g) { return routing::nearest_memory(router, c.topology.gpus()[g]); };
  EXPECT_NEAR(path_of(c, memory(0), memory(8)).latency.in_us(), 1.4, 0.01);
}

TEST(LinkFit, ASlowPathFromAGpuToItsNicLeavesTheWayToHostMemory) {
  const LinkFit fit = fit_of({nic_value(Kind::kGpuNicRate, 35)}, "dgx-h100:2");
  ASSERT_EQ(fit.figures.size(), 1u) << fit.tables[0].unused[0].why;
  const spec::Cluster c = with_set("dgx-h100:2", fit.set), before = with_set("dgx-h100:2", {});
  const auto gpus = c.topology.gpus();
  EXPECT_NEAR(path_of(c, gpus[0], gpus[8]).payload_GBps, 35, 0.01);
  const auto to_memory = [&](const spec::Cluster& m) {
    const routing::Router router(m.topology, m.routing, m.seed);
    return path_of(m, m.topology.gpus()[0], routing::nearest_memory(router, m.topology.gpus()[0])).payload_GBps;
  };
  EXPECT_EQ(to_memory(c), to_memory(before));
}

TEST(LinkFit, WhatFitsNoFigureIsNamedWithTheReason) {
  const auto why = [](const LinkTest& test, const char* cluster) {
    const LinkFit fit = fit_of({test}, cluster);
    EXPECT_TRUE(fit.figures.empty());
    return fit.tables[0].unused[0].why;
  };
  EXPECT_THAT(why(nic_value(Kind::kNicRate, 60), "dgx-h100:2"), HasSubstr("more than the 50 GB/s of the wire"));
  EXPECT_THAT(why(nic_value(Kind::kNicRate, 40), "dgx-h100"), HasSubstr("has one node"));
  EXPECT_THAT(why(nic_value(Kind::kNicLatency, 0.2), "dgx-h100:2"), HasSubstr("switches and cables take"));
  EXPECT_THAT(why(nic_value(Kind::kGpuNicRate, 49), "dgx-h100:2"), HasSubstr("no narrower than the network"));
  EXPECT_THAT(why(pairs_of("dgx-a100", 1), "hgx-a100-4"), HasSubstr("8 GPUs, a node of the machine has 4"));
  LinkTest other = pairs_of("dgx-a100", 1);
  other.product = "NVIDIA A100-SXM4-80GB";
  EXPECT_THAT(why(other, "dgx-h100"), HasSubstr("measured on a100"));
}

TEST(LinkFit, TestsThatDifferAndOddPairsAreNamed) {
  LinkTest pairs = pairs_of("dgx-h100", 1);
  pairs.pairs[2][5] *= 0.5;
  EXPECT_THAT(fit_of({pairs}, "dgx-h100").contradictions[0], HasSubstr("1 of 56 pairs"));
  const LinkFit two = fit_of({nic_value(Kind::kNicRate, 36), nic_value(Kind::kNicRate, 48)}, "dgx-h100:2");
  EXPECT_THAT(two.contradictions[0], HasSubstr("36 GB/s in nic.txt"));
}

/// Of 16 GPUs of the cluster, `factor` times as slow as predicted, from 256 MiB to 8 GiB.
MeasuredResults slower_table(const ExpectOptions& o, double factor) {
  MeasuredResults out;
  auto machine = predictor_of(o, {}).value();
  for (std::uint64_t size = std::uint64_t{1} << 28; size <= std::uint64_t{1} << 33; size *= 2)
    out.rows.push_back(
        {size, factor * machine->time(predict::call_over(o.op, Bytes{size}, 16), predict::kTimeAlone)->time.in_us()});
  return out;
}

TEST(LinkFit, TablesAreModelledOnTheFittedLinks) {
  ExpectOptions o;
  o.cluster = "dgx-a100:2";
  const MeasuredResults table = slower_table(o, 1);
  const auto c = calibrate({{"r.txt", table, o}}, {nic_value(Kind::kNicRate, 16)});
  ASSERT_TRUE(c.ok()) << c.error().text();
  EXPECT_THAT(c->contradictions, testing::Contains(HasSubstr("of the rate that it has with the rate of a NIC")));
  auto fitted = predictor_on(o, spec::parse_cluster(c->overlay, "overlay.yaml").value()).value();
  const double us =
      fitted->time(predict::call_over(o.op, Bytes{std::uint64_t{1} << 33}, 16), predict::kTimeAlone)->time.in_us();
  EXPECT_NEAR(us / table.rows.back().us, 1, 0.05);
}

// The first calibration knows the machine's own links, the second one a test of its NICs too.
TEST(LinkFit, TablesOfTheFileAreModelledAgainOnTheNewLinks) {
  ExpectOptions o;
  o.cluster = "dgx-a100:2";
  const MeasuredResults table = slower_table(o, 1.3);
  const auto first = calibrate({{"r.txt", table, o}});
  ASSERT_TRUE(first.ok()) << first.error().text();
  const std::string file = testing::TempDir() + "/first.yaml";
  std::ofstream(file) << first->overlay;
  ExpectOptions fitted = o;
  fitted.cluster = file;
  const auto second = calibrate({}, {nic_value(Kind::kNicRate, 18)}, fitted);
  ASSERT_TRUE(second.ok()) << second.error().text();
  EXPECT_EQ(second->tables.front().used, table.rows.size());
  EXPECT_EQ(second->verdict, CalibrationVerdict::kFits) << second->why;
  const auto on = predictor_on(o, spec::parse_cluster(second->overlay, "overlay.yaml").value()).value();
  const double us =
      on->time(predict::call_over(o.op, Bytes{std::uint64_t{1} << 33}, 16), predict::kTimeAlone)->time.in_us();
  EXPECT_NEAR(us / table.rows.back().us, 1, 0.05);
}

TEST(LinkFit, ASlowLinkIsOfABrokenMachine) {
  ExpectOptions o;
  o.cluster = "dgx-h100:2";
  const auto c = calibrate({}, {nic_value(Kind::kNicRate, 20)}, o);
  ASSERT_TRUE(c.ok()) << c.error().text();
  EXPECT_EQ(c->verdict, CalibrationVerdict::kBroken);
  EXPECT_EQ(c->overlay, "");
}

TEST(UsedResults, TheDateIsTheOneThatTheFileStates) {
  EXPECT_EQ(date_in("x 1.2026-1-2 2026-13-01 at 2026-11-20T10:00:00Z", "a"), "2026-11-20");
  EXPECT_EQ(date_in("no date: 12026-11-20", "runs/p2p-2025-01-31.txt"), "2025-01-31");
  EXPECT_EQ(date_in("", "p2p.txt"), "");
}

}  // namespace
}  // namespace busbar::accuracy
