#include "busbar/formats/step_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

namespace busbar::formats {
namespace {

using ::testing::HasSubstr;

const std::string kTwoSteps = "tests/fixtures/kineto/two-steps-tp2-dp4.json";
double part(const std::array<double, kTracedKinds>& parts, TracedKind k) { return parts[static_cast<std::size_t>(k)]; }

TEST(StepTrace, NamesOfKernelsTellTheirKind) {
  EXPECT_EQ(kind_of_kernel("nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT"), TracedKind::kGemm);
  EXPECT_EQ(kind_of_kernel("Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32"), TracedKind::kGemm);
  EXPECT_EQ(kind_of_kernel("void cutlass::device_kernel<flash::FlashAttnFwdSm90<...> >"), TracedKind::kAttention);
  EXPECT_EQ(kind_of_kernel("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma"), TracedKind::kAttention);
  EXPECT_EQ(kind_of_kernel("multi_tensor_apply_kernel<..., FusedAdamMathFunctor<float>>"), TracedKind::kOptimizer);
  EXPECT_EQ(kind_of_kernel("void at::native::vectorized_elementwise_kernel<4>"), TracedKind::kOther);
}

TEST(StepTrace, PartsOfAStepSumToItsLength) {
  const StepTrace t = read_step_trace(kTwoSteps).value();
  EXPECT_EQ(t.world_size, 8u);
  ASSERT_EQ(t.steps.size(), 2u);
  ASSERT_EQ(t.collectives.size(), 6u);
  std::vector<program::OpClass> purposes;
  for (const TracedCollective& c : t.collectives)
    purposes.push_back(c.ranks == 2 ? program::OpClass::kTp : program::OpClass::kDp);
  const TracedParts p = parts_of_steps(t, purposes);
  EXPECT_NEAR(p.step_us, 600'000, 1);
  EXPECT_NEAR(std::accumulate(p.alone_us.begin(), p.alone_us.end(), p.idle_us), p.step_us, 1e-3);
  EXPECT_NEAR(std::accumulate(p.exposed_us.begin(), p.exposed_us.end(), 0.0), part(p.alone_us, TracedKind::kCollective),
              1e-3);
  EXPECT_NEAR(part(p.alone_us, TracedKind::kGemm), 320'000, 1);
  EXPECT_NEAR(part(p.alone_us, TracedKind::kAttention), 60'000, 1);
  EXPECT_NEAR(p.exposed_us[static_cast<std::size_t>(program::OpClass::kTp)], 40'000, 1);
  EXPECT_NEAR(p.exposed_us[static_cast<std::size_t>(program::OpClass::kDp)], 80'000, 1);  // 50 ms run during the GEMM
  EXPECT_NEAR(part(p.busy_us, TracedKind::kCollective), 170'000, 1);
}

TEST(StepTrace, WithoutMarksTheWholeTraceIsOneStep) {
  const StepTrace t = read_step_trace("tests/fixtures/kineto/hta-sampled_rank-0-nccl.json").value();
  ASSERT_EQ(t.steps.size(), 1u);
  ASSERT_EQ(t.notes.size(), 1u);
  EXPECT_EQ(t.steps[0].start_us, t.kernels.front().start_us);
}

TEST(StepTrace, ReadsAPackedTraceOfARealRun) {
  const StepTrace t = read_step_trace("tests/fixtures/kineto/hta-sampled_rank-0.json.gz").value();
  ASSERT_EQ(t.steps.size(), 2u);
  EXPECT_EQ(t.steps[0].name, "ProfilerStep#551");
  EXPECT_EQ(t.steps[0].end_us - t.steps[0].start_us, 1682725898686653.0 - 1682725898079292.0);  // until the next
  EXPECT_EQ(t.kernels.size(), 1154u + 50u);                                                     // and copies
}

// Ten microseconds of a GEMM, and an all-reduce that begins with its last four and takes eight.
TEST(StepTrace, ReadsAChakraTraceWithTimes) {
  const auto node = [](const std::string& name, char type, char start, char duration) {
    const std::string m = "\x08\x01\x12" + std::string(1, static_cast<char>(name.size())) + name + "\x18" + type +
                          "\x30" + start + "\x38" + duration;
    return std::string(1, static_cast<char>(m.size())) + m;
  };
  const std::string path = testing::TempDir() + "busbar_step_trace.et";
  std::ofstream(path, std::ios::binary) << "\x07\x0a\x05"
                                           "0.0.4"
                                        << node("sm90_gemm", 4, 100, 10)
                                        << node("ncclDevKernel_AllReduce_Sum", 7, 106, 8);
  const StepTrace t = read_step_trace(path).value();
  std::filesystem::remove(path);
  ASSERT_EQ(t.collectives.size(), 1u);
  EXPECT_EQ(t.collectives[0].op, collectives::Collective::kAllReduce);
  const std::vector<program::OpClass> purposes{program::OpClass::kDp};
  const TracedParts p = parts_of_steps(t, purposes);
  EXPECT_EQ(p.step_us, 14);
  EXPECT_EQ(part(p.alone_us, TracedKind::kGemm), 10);
  EXPECT_EQ(p.exposed_us[static_cast<std::size_t>(program::OpClass::kDp)], 4);
  EXPECT_THAT(read_step_trace("tests/fixtures/chakra-json/small_chakra.0.json").error().text(),
              HasSubstr("no start times"));
}

TEST(StepTrace, TheProcessGroupsOfAChakraTraceTellItsRanks) {
  const StepTrace t = read_step_trace("tests/fixtures/chakra-et/one-step-tp2-dp4.0.et").value();
  ASSERT_EQ(t.collectives.size(), 3u);
  EXPECT_EQ(t.collectives[0].members, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(t.collectives[1].members, (std::vector<std::uint32_t>{0, 2, 4, 6}));
  EXPECT_EQ(t.collectives[1].ranks, 4u);
  EXPECT_EQ(t.rank, 0u);
  const std::string path = testing::TempDir() + "busbar_step_trace.5.et";
  std::filesystem::copy_file("tests/fixtures/chakra-et/one-step-tp2-dp4.0.et", path,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(read_step_trace(path).value().rank, 5u);  // from its name
  std::filesystem::remove(path);
}

TEST(StepTrace, RefusesWhatHasNoKernels) {
  EXPECT_THAT(read_step_trace("tests/fixtures/README.md").error().text(), HasSubstr("neither a Kineto trace"));
  const std::string path = testing::TempDir() + "busbar_step_trace_host.json";
  std::ofstream(path) << R"({"traceEvents": [{"cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2}]})";
  EXPECT_THAT(read_step_trace(path).error().text(), HasSubstr("ProfilerActivity.CUDA"));
  std::filesystem::remove(path);
  EXPECT_THAT(read_step_trace("tests/fixtures/chakra-et/all_gather_4npus_1MB.1.et").error().text(),
              HasSubstr("has no kernels of a GPU"));
}

}  // namespace
}  // namespace busbar::formats
