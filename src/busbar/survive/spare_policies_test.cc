#include "busbar/survive/spare_policies.h"

#include <gtest/gtest.h>

#include <algorithm>

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
