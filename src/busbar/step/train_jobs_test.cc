#include "busbar/step/train_jobs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/step/machine.h"

namespace busbar::step {
namespace {

/// The server of each rank.
std::vector<std::uint32_t> servers_of(const topology::Topology& t, std::uint32_t jobs, const std::string& placement) {
  StepSettings settings;
  settings.jobs = jobs;
  settings.placement = placement;
  std::vector<std::uint32_t> out;
  for (const topology::DeviceId gpu : place_jobs(t, settings).value())
    out.push_back(static_cast<std::uint32_t>(t.block_of(gpu)));
  return out;
}

TEST(PlaceJobs, GivesWholeServersInTurnDealtOutOrInRandomOrder) {
  const spec::Cluster cluster = load_machine("dgx-h100:4", {}).value();
  const topology::Topology& t = cluster.topology;
  const auto each_eight_times = [](std::vector<std::uint32_t> servers) {
    std::vector<std::uint32_t> out;
    for (const std::uint32_t s : servers) out.insert(out.end(), 8, s);
    return out;
  };
  EXPECT_TRUE(servers_of(t, 1, "packed").empty());  // one job in the usual order
  EXPECT_EQ(servers_of(t, 2, "packed"), each_eight_times({0, 1, 2, 3}));
  EXPECT_EQ(servers_of(t, 2, "interleaved"), each_eight_times({0, 2, 1, 3}));  // the first job has every other server
  std::vector<std::uint32_t> random = servers_of(t, 2, "random:3");
  EXPECT_EQ(random, servers_of(t, 2, "random:3"));
  std::sort(random.begin(), random.end());
  EXPECT_EQ(random, each_eight_times({0, 1, 2, 3}));
}

TEST(PlaceJobs, TakesTheFirstGpusOfEachDomainAndLeavesSpares) {
  const spec::Cluster cluster = load_machine("dgx-h100:4", {}).value();
  const topology::Topology& t = cluster.topology;
  StepSettings settings;
  settings.gpus_per_domain = 6;
  const std::vector<topology::DeviceId> gpus = place_jobs(t, settings).value();
  ASSERT_EQ(gpus.size(), 24u);
  for (std::size_t i = 0; i < gpus.size(); ++i) EXPECT_EQ(gpus[i], t.gpus()[i / 6 * 8 + i % 6]);
  settings.jobs = 2;
  settings.placement = "interleaved";
  EXPECT_EQ(place_jobs(t, settings).value()[6], t.gpus()[16]);  // the first job's second server
  settings.gpus_per_domain = 9;
  EXPECT_EQ(place_jobs(t, settings).error().where.path, "--gpus-per-domain");
}

TEST(PlaceJobs, RefusesWhatItCannotDivideOrRead) {
  const spec::Cluster cluster = load_machine("dgx-h100:4", {}).value();
  const auto refused = [&](std::uint32_t jobs, const std::string& placement) {
    StepSettings settings;
    settings.jobs = jobs;
    settings.placement = placement;
    return place_jobs(cluster.topology, settings).error().where.path;
  };
  EXPECT_EQ(refused(3, "packed"), "--jobs");
  EXPECT_EQ(refused(0, "packed"), "--jobs");
  EXPECT_EQ(refused(2, "random:x"), "--placement");
  EXPECT_EQ(refused(2, "sorted"), "--placement");
}

TEST(Stragglers, AreAChanceInPercentAndAFactorOfAtLeastOne) {
  const Stragglers s = parse_stragglers("0.01%x1.3").value();
  EXPECT_DOUBLE_EQ(s.chance, 0.0001);
  EXPECT_DOUBLE_EQ(s.factor, 1.3);
  EXPECT_EQ(parse_stragglers("")->chance, 0);
  EXPECT_TRUE(parse_stragglers("100%x1").ok());
  EXPECT_TRUE(parse_stragglers("1%x100").ok());
  for (const char* wrong : {"0%x1.3", "101%x1.3", "1%x0.9", "1%x101", "1x1.3", "%x2", "1%x"})
    EXPECT_FALSE(parse_stragglers(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace busbar::step
