#include "busbar/spec/layout_file.h"

#include <gtest/gtest.h>

#include <string>

#include "busbar/spec/framework.h"

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
      {"{lora_rank: 16, lora_base: int4}", "write bf16, fp8, nf4 or nvfp4"},
      {"{optimizer: adam}", "write adamw, sgd, lion, adafactor or muon"},
      {"{moments: fp16}", "write fp32, bf16, fp8, int8, int4 or nvfp4"},
      {"{master_bytes: 3}", "4 bytes (fp32), 2 (fp16) or 0"},
      {"{documents: [0]}", "0"},
      {"{documents: 512}", "write a list of numbers"}};
  for (const auto& [text, part] : cases) {
    const auto layout = layout_of(text);
    ASSERT_FALSE(layout.ok()) << text;
    EXPECT_NE(layout.error().text().find(part), std::string::npos) << layout.error().text();
  }
}

TEST(LayoutFile, FlagsSayWhatIsTrainedOverTheFile) {
  workload::LayoutSpec l = layout_of("{lora_targets: mlp, optimizer: lion}").value();
  EXPECT_NE(apply_flags({}, l).error().text().find("needs lora_rank, as in 16"), std::string::npos);
  LayoutFlags flags;
  flags.trained = {.lora_rank = 16, .lora_base = "nvfp4", .optimizer = "adamw", .documents = "512,2048"};
  ASSERT_TRUE(apply_flags(flags, l).ok());
  EXPECT_EQ(l.adapters.rank, 16u);
  EXPECT_EQ(l.adapters.targets, layout_of("{lora_rank: 16, lora_targets: mlp}").value().adapters.targets);
  EXPECT_EQ(l.adapters.base, workload::BaseWeights::kNvfp4);
  EXPECT_EQ(l.optimizer.kind, workload::OptimizerKind::kAdamW);
  EXPECT_EQ(l.batch.documents, (std::vector<std::uint32_t>{512, 2048}));
  flags.trained.documents = "512,x";
  EXPECT_EQ(apply_flags(flags, l).error().where.path, "--documents");
  flags.trained = {.lora_rank = 16, .lora_targets = "q_proj,wq"};
  EXPECT_EQ(apply_flags(flags, l).error().where.path, "--lora-targets");
}

/// What a framework changes of a layout is named by the keys of a file.
TEST(LayoutFile, EveryKeyThatAFrameworkMaySetIsNamedWhereItDiffers) {
  const std::pair<const char*, const char*> keys[] = {{"recompute", "full"},
                                                      {"recompute_every", "2"},
                                                      {"recompute_layers", "3"},
                                                      {"early_stop", "true"},
                                                      {"offload.activations", "true"},
                                                      {"stage_buffers", "true"},
                                                      {"attention", "unfused"},
                                                      {"loss", "fused"},
                                                      {"context", "all_gather"},
                                                      {"gradient_bytes", "2"},
                                                      {"accumulate_gradients", "true"},
                                                      {"whole_tensors", "true"},
                                                      {"bucket_million_parameters", "7"},
                                                      {"overlap.grad_reduce", "false"},
                                                      {"overlap.param_gather", "false"},
                                                      {"overlap.p2p", "false"},
                                                      {"overlap.tp", "true"},
                                                      {"overlap.ep", "0.5"},
                                                      {"overlap.ep", "auto"},
                                                      {"overlap.shared_experts", "true"},
                                                      {"expert_exchange", "per_node"},
                                                      {"expert_kernels", "deepep"},
                                                      {"expert_capacity", "1.25"},
                                                      {"expert_masks", "true"},
                                                      {"fused_experts", "true"},
                                                      {"expert_launch", "5us"},
                                                      {"kernel_time", "1.1"}};
  const workload::LayoutSpec usual = layout_of("{}").value();
  EXPECT_EQ(layout_changes(usual, usual), "");
  for (const auto& [key, value] : keys) {
    const std::string name = key;
    const std::size_t dot = name.find('.');
    const std::string text = dot == std::string::npos
                                 ? "{" + name + ": " + value + "}"
                                 : "{" + name.substr(0, dot) + ": {" + name.substr(dot + 1) + ": " + value + "}}";
    auto set = layout_of(text.c_str());
    bool given = true;
    if (!set.ok() || layout_changes(usual, *set).empty()) given = false;
    EXPECT_TRUE(given) << text << (set.ok() ? "" : ": " + set.error().text());
    if (!given) continue;
    const std::string said = layout_changes(usual, *set);
    EXPECT_EQ(said.find(name), 0u) << said << " of " << text;
    EXPECT_EQ(said.find(','), std::string::npos) << said << " of " << text << ": one key and no other";
  }
}

}  // namespace
}  // namespace busbar::spec
