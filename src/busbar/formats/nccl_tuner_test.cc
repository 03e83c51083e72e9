#include "busbar/formats/nccl_tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar::formats {
namespace {

using ::testing::HasSubstr;

const char* const kPicks =
    "# picks of a site\n"
    "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n"
    "\n"
    "allreduce,0,65536,tree,ll128,2,2,16,-1,-1\n"
    "allreduce, 0, 1048576, nvls_tree, simple, -1, -1, -1 # any machine\n"
    "reducescatter,0,4096,-1,simple,-1,-1,-1,3,1\n";

TEST(NcclTuner, TheFirstLineThatAppliesCounts) {
  ASSERT_TRUE(looks_like_nccl_tuner(kPicks));
  const TunerPicks p = read_nccl_tuner(kPicks, "t.conf").value();
  ASSERT_EQ(p.picks.size(), 3u);
  const TunerPick* tree = pick_for(p, collectives::Collective::kAllReduce, 65536, 2, 16);
  ASSERT_NE(tree, nullptr);
  EXPECT_EQ(tree->algorithm, "tree");
  EXPECT_EQ(tree->protocol, "ll128");
  EXPECT_EQ(tree->channels, 2);
  EXPECT_EQ(tree->line, 4);
  EXPECT_EQ(pick_for(p, collectives::Collective::kAllReduce, 65537, 2, 16), &p.picks[1]);
  EXPECT_EQ(pick_for(p, collectives::Collective::kAllReduce, 65536, 2, 8), &p.picks[1]);   // other ranks
  EXPECT_EQ(pick_for(p, collectives::Collective::kAllReduce, 65536, 1, 16), &p.picks[1]);  // other nodes
  EXPECT_EQ(pick_for(p, collectives::Collective::kAllReduce, 1048577, 2, 16), nullptr);
  EXPECT_EQ(pick_for(p, collectives::Collective::kAllGather, 8, 2, 16), nullptr);
  EXPECT_EQ(pick_for(p, collectives::Collective::kReduceScatter, 8, 2, 16)->algorithm, "");
  ASSERT_EQ(p.unknown.size(), 2u);
  EXPECT_EQ(p.unknown[0].what, "field numPipeOps");
}

TEST(NcclTuner, ErrorsNameTheLine) {
  const auto error = [](const std::string& text) { return read_nccl_tuner(text, "t.conf").error().text(); };
  EXPECT_THAT(error("allreduce,0,8,tree"), HasSubstr("t.conf:1: has 4 fields"));
  EXPECT_THAT(error("\nalltoall,0,8,ring,ll,-1,-1,-1"), HasSubstr("t.conf:2: 'alltoall' is not one of allreduce"));
  EXPECT_THAT(error("reduce,0,8,rings,ll,-1,-1,-1"), HasSubstr("'rings' is not one of -1, tree, ring"));
  EXPECT_THAT(error("reduce,-3,8,ring,ll,-1,-1,-1"), HasSubstr("'-3' is not a whole number of 0 or more"));
  EXPECT_THAT(error("# none\n"), HasSubstr("t.conf: is empty"));
}

TEST(NcclTuner, OtherTablesLookDifferent) {
  EXPECT_FALSE(looks_like_nccl_tuner("size_bytes,time_us,collective\n8,3,all_reduce\n"));
  EXPECT_FALSE(looks_like_nccl_tuner("allreduce is slow\n"));
  EXPECT_TRUE(looks_like_nccl_tuner("# x\nbroadcast,0,1024,ring,simple,8,1,8\n"));
}

}  // namespace
}  // namespace busbar::formats
