#include "busbar/formats/mscclpp_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "busbar/collectives/builders.h"
#include "busbar/formats/internal/mscclpp_plan.h"

namespace busbar {
namespace {

using ::testing::HasSubstr;

constexpr Collective kAll[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                               Collective::kAllToAll, Collective::kBroadcast};

Result<Json> mscclpp_of(const char* algorithm, Collective op, std::uint32_t ranks, std::uint32_t channels = 1,
                        std::uint32_t node = 64) {
  const auto schedule = build_schedule(algorithm, op, ranks, channels, 0);
  if (!schedule.ok()) return schedule.error();
  const auto plan = plan_of(*schedule, false);
  if (!plan.ok()) return plan.error();
  MscclppOutput options;
  for (std::uint32_t r = 0; r < ranks; ++r) options.node.push_back(r / node);
  return write_mscclpp_plan(*plan, options);
}

TEST(MscclppWriter, OursAreProvedWhenReadBack) {
  int written = 0;
  for (const Collective op : kAll)
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
          const auto proof = prove(back->plan);
          ASSERT_TRUE(proof.ok()) << algorithm << ' ' << name_of(op) << ' ' << ranks << ": " << proof.error().text();
          const auto ours = plan_of(build_schedule(algorithm, op, ranks, 1, 0).value(), false).value();
          EXPECT_EQ(proof->sends, prove(ours)->sends) << algorithm << ' ' << name_of(op) << ' ' << ranks;
          ++written;
        }
  EXPECT_GE(written, 100);
}

TEST(MscclppWriter, KeepsToTheLimitsOfTheExecutor) {
  const Json plan = mscclpp_of("ring", Collective::kAllReduce, 8, 4).value();
  std::size_t blocks = 0;
  for (const Json& gpu : plan["gpus"].values()) {
    EXPECT_LE(gpu["semaphores"].size(), 16u);
    for (const Json& b : gpu["threadblocks"].values()) {
      EXPECT_LE(b["ops"].size(), 64u);
      EXPECT_EQ(b["id"].natural(), blocks++ % gpu["threadblocks"].size());
    }
  }
  EXPECT_GT(blocks, 8u);  // 14 rounds do not fit into one thread block
  EXPECT_THAT(mscclpp_of("ring", Collective::kAllReduce, 64, 4).error().text(),
              HasSubstr("semaphores, and MSCCL++ has 16; try --channels 1"));
}

TEST(MscclppWriter, RanksOfOtherNodesAreReachedByPortChannels) {
  const std::string inside = mscclpp_of("ring", Collective::kAllGather, 4).value().dump();
  EXPECT_THAT(inside, HasSubstr(R"("name":"put","src_buff")"));
  EXPECT_THAT(inside, testing::Not(HasSubstr("port")));
  const std::string across = mscclpp_of("ring", Collective::kAllGather, 4, 1, 2).value().dump();
  EXPECT_THAT(across, HasSubstr(R"("name":"pwsf","src_buff")"));
  EXPECT_THAT(across, HasSubstr(R"({"channel_type":"memory","connected_to":[1]})"));
}

TEST(MscclppWriter, WhatThePlanCannotSayIsRefused) {
  EXPECT_THAT(mscclpp_of("ring", Collective::kReduce, 4).error().text(), HasSubstr("MSCCL++ has no reduce"));
  ExecutionPlan plan = plan_of(build_schedule("ring", Collective::kBroadcast, 4, 1, 0).value(), false).value();
  plan.root = 2;
  EXPECT_THAT(write_mscclpp_plan(plan, {0, 0, {0, 0, 0, 0}}).error().text(), HasSubstr("cannot name the root"));
}

}  // namespace
}  // namespace busbar
