#include "busbar/formats/mscclpp_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "busbar/collectives/builders.h"
#include "busbar/formats/internal/mscclpp_plan.h"

namespace busbar::formats {
namespace {

using ::testing::HasSubstr;

constexpr collectives::Collective kAll[] = {collectives::Collective::kAllReduce, collectives::Collective::kAllGather,
                                            collectives::Collective::kReduceScatter, collectives::Collective::kAllToAll,
                                            collectives::Collective::kBroadcast};

Result<Json> mscclpp_of(const char* algorithm, collectives::Collective op, std::uint32_t ranks,
                        std::uint32_t channels = 1, std::uint32_t node = 64) {
  const auto schedule = collectives::build_schedule(algorithm, op, ranks, channels, 0);
  if (!schedule.ok()) return schedule.error();
  const auto plan = collectives::plan_of(*schedule, false);
  if (!plan.ok()) return plan.error();
  MscclppOutput options;
  for (std::uint32_t r = 0; r < ranks; ++r) options.node.push_back(r / node);
  return write_mscclpp_plan(*plan, options);
}

TEST(MscclppWriter, OursAreProvedWhenReadBack) {
  int written = 0;
  for (const collectives::Collective op : kAll)
    for (const char* algorithm : {"ring", "direct", "tree", "halving_doubling", "pairwise", "bruck", "chain"})
      for (const std::uint32_t ranks : {2u, 3u, 4u, 7u, 8u})
        for (const std::uint32_t node : {2u, 64u}) {
          const auto json = mscclpp_of(algorithm, op, ranks, 1, node);
          if (!json.ok()) {
            EXPECT_EQ(json.error().code, ErrorCode::kUnsupported) << algorithm << ' ' << ranks << json.error().text();
            continue;
          }
          const auto back = read_mscclpp_plan(json->dump(), "p.json");
          ASSERT_TRUE(back.ok()) << back.error().text();
          EXPECT_TRUE(back->unknown.empty());
          const auto proof = collectives::prove(back->plan);
          ASSERT_TRUE(proof.ok()) << algorithm << ' ' << collectives::name_of(op) << ' ' << ranks << ": "
                                  << proof.error().text();
          const auto ours =
              collectives::plan_of(collectives::build_schedule(algorithm, op, ranks, 1, 0).value(), false).value();
          EXPECT_EQ(proof->sends, collectives::prove(ours)->sends)
              << algorithm << ' ' << collectives::name_of(op) << ' ' << ranks;
          ++written;
        }
  EXPECT_GE(written, 100);
}

TEST(MscclppWriter, KeepsToTheLimitsOfTheExecutor) {
  const Json plan = mscclpp_of("ring", collectives::Collective::kAllReduce, 8, 4).value();
  std::size_t blocks = 0;
  for (const Json& gpu : plan["gpus"].values()) {
    EXPECT_LE(gpu["semaphores"].size(), 16u);
    for (const Json& b : gpu["threadblocks"].values()) {
      EXPECT_LE(b["ops"].size(), 64u);
      EXPECT_EQ(b["id"].natural(), blocks++ % gpu["threadblocks"].size());
    }
  }
  EXPECT_GT(blocks, 8u);  // 14 rounds do not fit into one thread block
  EXPECT_THAT(mscclpp_of("ring", collectives::Collective::kAllReduce, 64, 4).error().text(),
              HasSubstr("semaphores, and MSCCL++ has 16; try --channels 1"));
}

TEST(MscclppWriter, RanksOfOtherNodesAreReachedByPortChannels) {
  const std::string inside = mscclpp_of("ring", collectives::Collective::kAllGather, 4).value().dump();
  EXPECT_THAT(inside, HasSubstr(R"("name":"put","src_buff")"));
  EXPECT_THAT(inside, testing::Not(HasSubstr("port")));
  const std::string across = mscclpp_of("ring", collectives::Collective::kAllGather, 4, 1, 2).value().dump();
  EXPECT_THAT(across, HasSubstr(R"("name":"pwsf","src_buff")"));
  EXPECT_THAT(across, HasSubstr(R"({"channel_type":"memory","connected_to":[1]})"));
}

TEST(MscclppWriter, WhatThePlanCannotSayIsRefused) {
  EXPECT_THAT(mscclpp_of("ring", collectives::Collective::kReduce, 4).error().text(),
              HasSubstr("MSCCL++ has no reduce"));
  collectives::ExecutionPlan plan =
      collectives::plan_of(collectives::build_schedule("ring", collectives::Collective::kBroadcast, 4, 1, 0).value(),
                           false)
          .value();
  plan.root = 2;
  EXPECT_THAT(write_mscclpp_plan(plan, {0, 0, {0, 0, 0, 0}}).error().text(), HasSubstr("cannot name the root"));
}

}  // namespace
}  // namespace busbar::formats
