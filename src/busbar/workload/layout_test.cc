#include "busbar/workload/layout.h"

#include <gtest/gtest.h>

#include <functional>

#include "busbar/workload/test_models.h"

namespace busbar::workload {
namespace {

TEST(Layout, AMissingDegreeFollowsFromTheMachine) {
  EXPECT_EQ(main_layout(1, 1).dp, 64u);
  EXPECT_EQ(main_layout(1, 1).micro_batches(), 16u);
  EXPECT_EQ(main_layout(4, 5).dp, 16u);
  EXPECT_EQ(main_layout(4, 5).micro_batches(), 64u);
}

TEST(Layout, EveryRefusalNamesItsPlaceAndARemedy) {
  struct Case {
    std::function<void(LayoutSpec&)> change;
    const char* place;
    const char* words;
  };
  const Case cases[] = {
      {[](LayoutSpec& l) { l.tp = 0; }, "layout.tp", "at least 1"},
      {[](LayoutSpec& l) { l.tp = 3; }, "layout.tp", "64 attention heads are not divisible by tp 3"},
      {[](LayoutSpec& l) { l.cp = 3; }, "layout.seq", "sequence 4096"},
      {[](LayoutSpec& l) { l.sharding.group = 7; }, "layout.shard_group", "must divide dp 64"},
      {[](LayoutSpec& l) { l.pp = 2, l.split.first_layers = 80; }, "layout.first_layers", "leave no layer"},
      {[](LayoutSpec& l) { l.pp = 2, l.split.first_layers = 30, l.split.last_layers = 40; }, "layout.first_layers",
       "are not the 80 layers"},
      {[](LayoutSpec& l) {
         l.pp = 4, l.split.chunk_layers = {20, 20, 40};
       },
       "layout.chunk_layers", "3 numbers for pp 4"},
      {[](LayoutSpec& l) {
         l.pp = 4, l.split.chunk_layers = {20, 20, 20, 21};
       },
       "layout.chunk_layers", "sum to 81"},
      {[](LayoutSpec& l) {
         l.pp = 4, l.split.chunk_layers = {20, 0, 40, 20};
       },
       "layout.chunk_layers", "chunk 1 would have"},
      {[](LayoutSpec& l) { l.pp = 4, l.split.head_as_layer = true; }, "layout.head_as_layer", "not 4 equal chunks"},
      {[](LayoutSpec& l) { l.sharding.accumulate_gradients = true; }, "layout.accumulate_gradients",
       "leave accumulate_gradients out"},
      {[](LayoutSpec& l) { l.pp = 4, l.vpp = 5, l.schedule = PipelineSchedule::kGPipe; }, "layout.vpp", "GPipe"},
      {[](LayoutSpec& l) { l.pp = 4, l.vpp = 5, l.schedule = PipelineSchedule::kZbH1; }, "layout.vpp", "ZB-H1"},
      {[](LayoutSpec& l) { l.pp = 4, l.vpp = 1, l.places["vpp"] = {}, l.schedule = PipelineSchedule::kZbV; }, "",
       "ZB-V has two chunks"},
      {[](LayoutSpec& l) { l.pp = 4, l.batch.global = 16 * 3, l.schedule = PipelineSchedule::kZbV; },
       "layout.global_batch", "at least pp 4 micro-batches"},
      {[](LayoutSpec& l) { l.pp = 128; }, "layout.pp", "80 layers"},
      {[](LayoutSpec& l) { l.pp = 4, l.vpp = 32; }, "layout.vpp", "80 layers"},
      {[](LayoutSpec& l) { l.vpp = 2; }, "layout.vpp", "pp is 1"},
      {[](LayoutSpec& l) { l.pp = 80; }, "layout.pp", "take more nodes"},
      {[](LayoutSpec& l) { l.dp = 63; }, "layout.dp", "leave dp out for dp 64"},
      {[](LayoutSpec& l) { l.batch.global = 1000; }, "layout.global_batch", "the next multiple is 1024"},
      {[](LayoutSpec& l) { l.pp = 4, l.vpp = 5, l.batch.global = 16 * 6; }, "layout.global_batch", "multiples of pp 4"},
      {[](LayoutSpec& l) { l.straggler.stage = 1; }, "layout.straggler", "no stage 1"},
      {[](LayoutSpec& l) { l.sharding.zero = 4; }, "layout.zero", "use 0 to 3"},
      {[](LayoutSpec& l) { l.overlap.tp = true, l.sequence_parallel = false; }, "layout.overlap_tp",
       "sequence_parallel"},
  };
  for (const Case& c : cases) {
    LayoutSpec l;
    l.tp = 8;
    l.batch.global = 1024;
    c.change(l);
    const auto r = resolve_layout(l, llama3_70b(), 512);
    ASSERT_FALSE(r.ok()) << c.words;
    EXPECT_NE(r.error().text().find(c.place), std::string::npos) << r.error().text();
    EXPECT_NE(r.error().text().find(c.words), std::string::npos) << r.error().text();
  }
}

TEST(Layout, PlacesComeFromWhereKeysWereGiven) {
  LayoutSpec l;
  l.tp = 3;
  l.places["tp"] = Where{.file = "job.yaml", .line = 7, .column = 7, .path = "layout.tp"};
  const auto r = resolve_layout(l, llama3_70b(), 512);
  EXPECT_EQ(r.error().text().rfind("job.yaml:7:7: layout.tp: ", 0), 0u) << r.error().text();
}

TEST(Layout, FewerKeyValueHeadsThanRanksAreHeldBySeveral) {
  LayoutSpec l;
  l.tp = 16;
  l.dp = 1;
  EXPECT_TRUE(resolve_layout(l, llama3_70b(), 16).ok());  // 8 heads
}

TEST(Layout, OneReplicaKeepsItsMicroBatches) {
  const LayoutSpec one = single_replica(main_layout(4, 5));
  EXPECT_EQ(one.dp, 1u);
  EXPECT_EQ(one.micro_batches(), 64u);
}

TEST(Layout, BucketsGrowWithTheReplicas) {
  LayoutSpec l;
  l.dp = 16;
  EXPECT_EQ(bucket_size(l), 40'000'000u);
  l.dp = 64;
  EXPECT_EQ(bucket_size(l), 64'000'000u);
}

}  // namespace
}  // namespace busbar::workload
