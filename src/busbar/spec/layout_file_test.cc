#include "busbar/spec/layout_file.h"

#include <gtest/gtest.h>

namespace busbar::spec {
namespace {

Result<workload::LayoutSpec> layout_of(const char* text) {
  return read_layout(YamlDocument::parse(text, "job.yaml").value().root());
}

TEST(LayoutFile, TargetsHaveTheNamesOfSeveralFrameworks) {
  const auto targets = [](const char* text) { return layout_of(text).value().adapters.targets; };
  EXPECT_EQ(targets("{lora_rank: 16}"), targets("{lora_rank: 16, lora_targets: [q_proj, v_proj]}"));
  EXPECT_EQ(targets("{lora_rank: 16, lora_targets: all-linear}"),
            targets("{lora_rank: 16, lora_targets: [attention, gate_proj, up_proj, linear_fc2]}"));
  EXPECT_NE(targets("{lora_rank: 16, lora_targets: linear_qkv}"), targets("{lora_rank: 16}"));
}

TEST(LayoutFile, OptimizerBaseWeightsAndDocumentsAreRead) {
  const auto l = layout_of(
      "{lora_rank: 8, lora_base: nf4, lora_double_quantised: false, optimizer: lion, moments: int8, master_bytes: 0, "
      "documents: [512, 2048]}");
  ASSERT_TRUE(l.ok()) << l.error().text();
  EXPECT_EQ(l->adapters.rank, 8u);
  EXPECT_EQ(l->adapters.base, workload::BaseWeights::kNf4);
  EXPECT_FALSE(l->adapters.double_quantised);
  EXPECT_EQ(l->optimizer.kind, workload::OptimizerKind::kLion);
  EXPECT_EQ(l->optimizer.moments, workload::MomentKind::kInt8);
  EXPECT_EQ(l->optimizer.master_bytes, 0u);
  EXPECT_EQ(l->batch.documents, (std::vector<std::uint32_t>{512, 2048}));
}

TEST(LayoutFile, WhatNoFrameworkHasIsRefusedWithARemedy) {
  const std::pair<const char*, const char*> cases[] = {
      {"{lora_rank: 16, lora_targets: wq}", "'wq' is not a matrix that can have an adapter; known are q_proj"},
      {"{lora_targets: mlp}", "needs lora_rank, as in 16"},
      {"{lora_base: nf4}", "needs lora_rank"},
      {"{lora_rank: 16, lora_base: int4}", "write bf16, fp8 or nf4"},
      {"{optimizer: adam}", "write adamw, sgd, lion, adafactor or muon"},
      {"{moments: fp16}", "write fp32, bf16, fp8, int8 or int4"},
      {"{master_bytes: 3}", "4 bytes (fp32), 2 (fp16) or 0"},
      {"{documents: [0]}", "0"},
      {"{documents: 512}", "write a list of numbers"}};
  for (const auto& [text, part] : cases) {
    const auto layout = layout_of(text);
    ASSERT_FALSE(layout.ok()) << text;
    EXPECT_NE(layout.error().text().find(part), std::string::npos) << layout.error().text();
  }
}

}  // namespace
}  // namespace busbar::spec
