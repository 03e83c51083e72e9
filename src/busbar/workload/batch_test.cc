#include "busbar/workload/batch.h"

#include <gtest/gtest.h>

#include <cmath>

#include "busbar/workload/test_models.h"

namespace busbar::workload {
namespace {

ModelSpec published(std::uint64_t tokens) {
  ModelSpec m = llama3_70b();
  m.recipe = {tokens, "a paper"};
  return m;
}

TEST(UsualBatch, IsThePublishedOneInSequencesOfTheLayout) {
  const UsualBatch own = usual_batch(published(15360 * 4096), 4096, 2048);
  EXPECT_EQ(own.sequences, 15360u);
  EXPECT_NE(own.basis.find("as published for Llama-3-70B (a paper)"), std::string::npos) << own.basis;
  EXPECT_EQ(usual_batch(published(15360 * 4096), 8192, 2048).sequences, 7680u);
  EXPECT_EQ(usual_batch(published(1536 * 2048), 2048, 512).sequences, 1536u);
}

TEST(UsualBatch, IsFourMillionTokensWithoutAPublishedOne) {
  const UsualBatch batch = usual_batch(published(0), 4096, 512);
  EXPECT_EQ(batch.sequences, 1024u);
  EXPECT_NE(batch.basis.find("about 4 M tokens"), std::string::npos) << batch.basis;
  EXPECT_EQ(usual_batch(published(0), 1u << 23, 512).sequences, 1u) << "a sequence longer than the batch";
}

TEST(UsualBatch, StaysNearAndIsDividedByTheOddPartOfTheGpus) {
  for (const std::uint32_t gpus : {8u, 24u, 40u, 72u, 1152u, 10752u, 24576u})
    for (const std::uint32_t seq : {2048u, 4096u, 6000u, 8192u}) {
      const double exact = static_cast<double>(kUsualTokens) / seq;
      const std::uint32_t batch = usual_batch(published(0), seq, gpus).sequences;
      std::uint32_t odd = gpus;
      while (odd % 2 == 0) odd /= 2;
      EXPECT_LE(std::abs(batch - exact), exact / 16 + 1) << gpus << " GPUs, sequences of " << seq;
      EXPECT_EQ(batch % odd, 0u) << gpus << " GPUs, sequences of " << seq;
      EXPECT_EQ(batch % 8, 0u) << gpus << " GPUs, sequences of " << seq;
    }
  EXPECT_EQ(usual_batch(published(0), 4096, 2 * 1301).sequences, 1024u) << "no multiple of 1301 is near";
}

TEST(UsualBatch, GrowsToOneMicroBatchForEachReplica) {
  LayoutSpec l = main_layout(1, 1);
  l.batch.global = 0;
  l.tp = 1;
  l.dp = 0;
  l.batch.micro = 1;
  const auto few = resolve_layout(l, published(0), 512), many = resolve_layout(l, published(0), 16384);
  ASSERT_TRUE(few.ok() && many.ok());
  EXPECT_EQ(few->batch.global, 1024u);
  EXPECT_EQ(few->batch.basis.find("instead of"), std::string::npos) << few->batch.basis;
  EXPECT_EQ(many->batch.global, 16384u);
  EXPECT_NE(many->batch.basis.find("16384 instead of 1024"), std::string::npos) << many->batch.basis;
}

TEST(UsualBatch, FeedsInterleavedAndFoldedPipelines) {
  LayoutSpec l = main_layout(4, 5);
  l.batch.global = 0;
  l.dp = 48;
  const auto interleaved = resolve_layout(l, published(0), 0);
  ASSERT_TRUE(interleaved.ok()) << interleaved.error().text();
  EXPECT_EQ(interleaved->micro_batches() % 4, 0u);
  l.split.chunk_layers.clear();
  l.vpp = 2;
  l.dp = 1024;
  l.schedule = PipelineSchedule::kDualPipeV;
  const auto folded = resolve_layout(l, published(0), 0);
  ASSERT_TRUE(folded.ok()) << folded.error().text();
  EXPECT_EQ(folded->micro_batches(), 8u);
}

TEST(UsualBatch, AGivenBatchStays) {
  LayoutSpec l = main_layout(1, 1);
  const auto given = resolve_layout(l, published(0), 512);
  ASSERT_TRUE(given.ok());
  EXPECT_EQ(given->batch.global, l.batch.global);
  EXPECT_EQ(given->batch.basis, "");
}

}  // namespace
}  // namespace busbar::workload
