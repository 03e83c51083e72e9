#include "busbar/accuracy/leave_out.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace busbar::accuracy {
namespace {

/// 8 GPUs of a board train Llama 2 7B: the least that a dense row needs.
struct MeasuredStep {
  const char *series, *node, *framework;
  double step_time_s;
  const char* global_batch = "128";
  const char* fit = "";
};

LeftOutDense leave_out_of(const std::vector<MeasuredStep>& steps) {
  std::string text =
      "row_id,source_id,source,model,layers,hidden,ffn_hidden,heads,kv_heads,head_dim,gated_mlp,seq_len,vocab,"
      "precision,gpu,gpus_total,gpus_per_node,TP,PP,VPP,DP,CP,EP,zero_fsdp,recompute,micro_batch,global_batch,"
      "step_time_s,overlap,fit,node,nics_per_node,nic_gbps,fabric,framework,moe,layout_complete,use,sequence_"
      "parallel\n";
  for (const MeasuredStep& s : steps)
    text += fmt::format(
        "{0},{0},s,Llama2-7B,32,4096,11008,32,32,128,y,4096,32000,bf16,x,8,8,1,1,1,8,1,1,"
        "distributed optimizer (ZeRO-1),none,1,{4},{3},recipe defaults,{5},{1},0,0,none,{2},no,yes,accuracy,n\n",
        s.series, s.node, s.framework, s.step_time_s, s.global_batch, s.fit);
  const auto t = CsvTable::parse(std::move(text), "t.csv");
  BUSBAR_CHECK(t.ok()) << t.error().text();
  auto left = leave_dense_out(*t, {});
  BUSBAR_CHECK(left.ok()) << left.error().text();
  return std::move(left).value();
}

const LeftOutPart& part_of(const LeftOutDense& left, const std::string& key, const std::string& name) {
  for (const LeftOutTable& t : left.tables)
    for (const LeftOutPart& p : t.parts)
      if (t.key == key && p.name == name) return p;
  BUSBAR_CHECK(false) << key << " " << name;
  return left.never_fitted;
}

const char* const kAside = "no";

TEST(LeaveOut, APartsOwnMeasurementsDoNotMoveTheConstantsThatPredictIt) {
  const auto with_time = [](double seconds) {
    return leave_out_of({{"a", "dgx-a100", "nemo", 10},
                         {"h", "dgx-h100", "nemo", seconds},
                         {"i", "dgx-h100", "internevo", 2 * seconds, "256"},
                         {"t", "dgx-h200", "internevo", 5}});
  };
  const LeftOutDense fast = with_time(5), slow = with_time(6);
  EXPECT_NEAR(100 + part_of(fast, "gpu", "h100-sxm").without.median_percent,
              1.2 * (100 + part_of(slow, "gpu", "h100-sxm").without.median_percent), 1e-6);
  EXPECT_NE(part_of(fast, "gpu", "h200-sxm").without.median_percent,
            part_of(slow, "gpu", "h200-sxm").without.median_percent)
      << "the same generation: its constant follows the H100's rows";
}

TEST(LeaveOut, RowsInNoFitMoveNoConstant) {
  const auto with_time = [](double seconds) {
    return leave_out_of({{"a", "dgx-a100", "nemo", 10},
                         {"h", "dgx-h100", "nemo", 5},
                         {"k", "dgx-a100", "megatron", seconds, "256", kAside}});
  };
  const LeftOutDense once = with_time(20), twice = with_time(40);
  EXPECT_EQ(once.never_fitted.without.rows, 1u);
  EXPECT_NEAR(100 + once.never_fitted.without.median_percent, 2 * (100 + twice.never_fitted.without.median_percent),
              1e-6);
  EXPECT_EQ(part_of(once, "gpu", "h100-sxm").without.median_percent,
            part_of(twice, "gpu", "h100-sxm").without.median_percent);
  EXPECT_EQ(once.never_fitted.without.max_abs_percent, part_of(once, "series", "k").without.max_abs_percent);
}

TEST(LeaveOut, OneGenerationAloneIsFittedToTheOtherAndARowThatNothingElsePredictsIsLeftAway) {
  const LeftOutDense left =
      leave_out_of({{"h", "dgx-h100", "nemo", 5}, {"k", "dgx-a100", "megatron", 20, "256", kAside}});
  EXPECT_EQ(part_of(left, "generation", "ampere").without.rows, 1u);
  for (const LeftOutTable& t : left.tables) EXPECT_EQ(t.parts.size(), 1u) << t.key << ": no row is left to fit h's";
  EXPECT_TRUE(leave_out_of({{"h", "dgx-h100", "nemo", 5}}).tables.empty());
}

// Two rows, and a constant for each: the fit predicts both.
TEST(LeaveOut, TheFitOfAllRowsIsGivenWithItsErrors) {
  const LeftOutDense left = leave_out_of({{"a", "dgx-a100", "nemo", 10}, {"h", "dgx-h100", "internevo", 6}});
  ASSERT_EQ(left.constants.size(), 3u);
  EXPECT_EQ(left.constants[0].key + " " + left.constants[0].name, "held_share ampere");
  EXPECT_EQ(left.constants[2].key + " " + left.constants[2].name, "kernel_time internevo");
  EXPECT_GT(left.all.with.mean_abs_percent, 1);
  EXPECT_LT(left.all.without.mean_abs_percent, 0.3);
}

}  // namespace
}  // namespace busbar::accuracy
