// Kernels for registered buffers on whole machines: never below a floor, with the bytes of their definition.
#include <gtest/gtest.h>

#include "busbar/base/id.h"
#include "busbar/predict/predictor.h"

namespace busbar::predict {
namespace {

using enum collectives::Collective;

std::unique_ptr<Predictor> on(const std::string& cluster, nccl::Registration registration,
                              std::vector<std::string> env = {}) {
  PredictPolicy policy;
  policy.registration = registration;
  policy.env = std::move(env);
  return Predictor::make(spec::load_cluster(cluster).value(), {}, std::move(policy)).value();
}

Prediction time(Predictor& m, collectives::Collective op, std::uint64_t size, std::uint32_t ranks = 8) {
  return m.time(call_over(op, Bytes{size}, ranks)).value();
}

std::string_view kernel_of(const Prediction& p) { return p.nccl && p.nccl->kernel ? p.nccl->kernel->name : ""; }

TEST(RegisteredBuffers, AreNeverFasterThanAFloorAndGrowWithTheSize) {
  for (const char* machine : {"dgx-a100", "dgx-h100", "dgx-b200"}) {
    const auto m = on(machine, nccl::Registration::kSymmetric);
    for (const auto op : {kAllReduce, kAllGather, kReduceScatter}) {
      Duration before;
      std::string_view kernel;
      for (std::uint64_t size = 8; size <= std::uint64_t{1} << 32; size *= 8) {
        const Prediction p = time(*m, op, size);
        EXPECT_NE(kernel_of(p), "") << machine << " " << size;
        EXPECT_EQ(p.warning, "") << machine << " " << size;
        EXPECT_GE(p.time, p.floor.time);
        if (kernel_of(p) == kernel) EXPECT_GE(p.time, before) << machine << " " << size;
        before = p.time;
        kernel = kernel_of(p);
      }
    }
  }
}

TEST(RegisteredBuffers, SaveTimeOfFewBytesAndOnlyIfRegistered) {
  const auto plain = on("dgx-h100", nccl::Registration::kNone),
             symmetric = on("dgx-h100", nccl::Registration::kSymmetric);
  for (const auto op : {kAllReduce, kAllGather, kReduceScatter})
    for (const std::uint64_t size : {std::uint64_t{8}, std::uint64_t{1} << 12, std::uint64_t{1} << 20}) {
      EXPECT_LT(time(*symmetric, op, size).time, time(*plain, op, size).time) << size;
      EXPECT_EQ(kernel_of(time(*plain, op, size)), "");
    }
}

// 6.3 us: NVIDIA's announcement of NCCL 2.27, all_reduce of few bytes over 32 GPUs of GB200 NVL72, from CUDA graphs.
TEST(RegisteredBuffers, TakeThePublishedTimeOfFewBytesOverThirtyTwoGpus) {
  PredictPolicy policy;
  policy.registration = nccl::Registration::kSymmetric;
  policy.launch = Duration::ps(5'880'000);  // catalog/launches/graph.yaml
  const auto m = Predictor::make(spec::load_cluster("gb200-nvl72").value(), {}, std::move(policy)).value();
  EXPECT_NEAR(time(*m, kAllReduce, 8, 32).time.in_us(), 6.3, 0.3);
}

/// Bytes that leave the first GPU by NVLink.
double sent_by_first(Predictor& m, const Prediction& p) {
  const topology::Topology& t = m.cluster().topology;
  const auto engine = m.open_engine();
  std::vector<double> bytes(t.link_count());
  engine->add_bytes_of(engine->prepare(p.call).value(), bytes);
  double sum = 0;
  for (const topology::LinkId l : t.out_links(t.gpus()[0]))
    if (topology::is_scale_up(t.link_class(l).kind)) sum += bytes[index(l)];
  return sum;
}

TEST(RegisteredBuffers, LoadLinksWithTheBytesOfTheirDefinition) {
  const auto m = on("dgx-a100", nccl::Registration::kSymmetric);  // without multicast
  const double flags = m->protocol().symmetric_ll.efficiency;
  const Prediction few = time(*m, kAllReduce, 8000);
  EXPECT_EQ(kernel_of(few), "AllReduce_AGxLL_R");
  EXPECT_NEAR(sent_by_first(*m, few), 7 * 8000 / flags, 1);
  const Prediction many = time(*m, kAllReduce, 800'000'000);
  EXPECT_EQ(kernel_of(many), "AllReduce_RSxLD_AGxST");
  EXPECT_NEAR(sent_by_first(*m, many), 2 * 7 / 8.0 * 8e8, 1);
  const Prediction gathered = time(*m, kAllGather, 800'000'000);
  EXPECT_NEAR(sent_by_first(*m, gathered), 7 / 8.0 * 8e8, 1);
}

TEST(RegisteredBuffers, CopyEnginesStartLateAndReachThePayloadRate) {
  const auto m = on("dgx-h100", nccl::Registration::kSymmetric, {"NCCL_CTA_POLICY=ZERO"});
  const Prediction few = time(*m, kAllGather, 8), many = time(*m, kAllGather, std::uint64_t{8} << 30);
  EXPECT_EQ(kernel_of(few), "Copy Engine");
  EXPECT_NEAR(few.time.in_us(), 17.5 + 8 * 1.957 + 0.5, 0.1);  // NCCL 2.31.2, and the links' latency
  const double rate = 450 * 0.86, bytes = 7 / 8.0 * static_cast<double>(std::uint64_t{8} << 30);
  EXPECT_NEAR(many.time.in_us() - few.time.in_us(), bytes / rate / 1e3, bytes / rate / 1e3 * 0.01);
}

TEST(RegisteredBuffers, OfSeveralGroupsAtOnceRunTheSameKernels) {
  const auto m = on("dgx-h100:2", nccl::Registration::kSymmetric);
  program::CollectiveCall call = call_over(kAllReduce, Bytes{1 << 20}, 8);
  call.groups.outer = {{.extent = 2, .actor_stride = 8}};
  const Prediction p = m->time(call).value();
  EXPECT_EQ(kernel_of(p), "AllReduce_RSxLDMC_AGxSTMC");
  EXPECT_EQ(kernel_of(time(*m, kAllReduce, 1 << 20, 16)), "") << "two NVLink domains";
}

}  // namespace
}  // namespace busbar::predict
