#include "busbar/survive/spare_policies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace busbar::survive {
namespace {

SpareTerms terms_of_racks() {
  SpareTerms t;
  t.run = {10'000, 4, 350, 0};
  t.interval_s = 300;
  t.step_s = 8;
  t.detect_s = 30;
  t.saved_by_hot_s = 240;
  t.load_s = 10;
  t.hardware_share = 0.8;
  t.repair_s = 86'400;
  t.servers = 1152;
  t.domains = 64;
  t.replicas = 64;
  t.peers_hold_state = true;
  return t;
}

const SparePolicy& policy(const std::vector<SparePolicy>& all, const char* name) {
  return *std::find_if(all.begin(), all.end(), [&](const auto& p) { return p.name.find(name) != std::string::npos; });
}

TEST(SparePolicies, TheCheapestIsFirstAndEachPaysForItsSpares) {
  const SpareTerms t = terms_of_racks();
  const auto all = spare_policies(t, 0.99);
  ASSERT_EQ(all.size(), 6u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_DOUBLE_EQ(all[i].paid_per_useful,
                     (t.servers + static_cast<double>(all[i].spares)) / t.servers / all[i].useful);
    if (i > 0) EXPECT_GE(all[i].paid_per_useful, all[i - 1].paid_per_useful);
  }
  EXPECT_EQ(all.back().name, "no spares, wait for the repair");  // 19 hours each, every 2.8 hours
}

TEST(SparePolicies, SparesOfADomainHelpNoOther) {
  const auto all = spare_policies(terms_of_racks(), 0.99);
  EXPECT_GE(policy(all, "in each domain").spares, 64u);
  EXPECT_LT(policy(all, "wait started").spares, 20u);
  EXPECT_DOUBLE_EQ(policy(all, "in each domain").useful, policy(all, "wait started").useful);
}

TEST(SparePolicies, IdleGpusOfADomainHelpUntilAllOfThemAreInRepair) {
  SpareTerms t = terms_of_racks();
  t.servers = 1024;  // 16 of 18 servers of each rack
  t.kept_per_domain = 2;
  const auto all = spare_policies(t, 0.99);
  const SparePolicy& kept = policy(all, "the idle GPUs of each domain");
  EXPECT_EQ(kept.spares, 128u);
  const double mean = t.hardware_share * t.repair_s / t.run.mtti_s / t.domains;
  const double none_left = 1 - std::exp(-mean) * (1 + mean);
  EXPECT_NEAR(kept.restart_s, 350 - 240 + none_left * t.hardware_share * t.repair_s, 1e-6);
  EXPECT_LT(kept.useful, policy(all, "wait started").useful);
  t.kept_per_domain = 9;  // more than ever are in repair
  EXPECT_NEAR(policy(spare_policies(t, 0.99), "the idle GPUs").useful, policy(all, "wait started").useful, 1e-9);
}

TEST(SparePolicies, ALostServerTakesItsWholeReplicaOut) {
  SpareTerms t = terms_of_racks();
  const double many = policy(spare_policies(t, 0.99), "fewer replicas").useful;
  t.replicas = 8;
  EXPECT_LT(policy(spare_policies(t, 0.99), "fewer replicas").useful, many);
  t.replicas = 1;
  t.domains = t.servers;
  EXPECT_EQ(spare_policies(t, 0.99).size(), 3u);
}

TEST(SparePolicies, StateOfAPeerSavesTheWorkSinceTheCheckpoint) {
  const auto all = spare_policies(terms_of_racks(), 0.99);
  EXPECT_GT(policy(all, "from a peer").useful, policy(all, "fewer replicas").useful);
}

}  // namespace
}  // namespace busbar::survive
