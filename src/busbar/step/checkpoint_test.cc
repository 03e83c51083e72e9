#include "busbar/step/checkpoint.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "busbar/spec/cluster.h"
#include "busbar/topology/routing_policy.h"
#include "busbar/workload/memory.h"
#include "busbar/workload/test_models.h"

namespace busbar::step {
namespace {

CheckpointTimes times_on(const std::string& machine, const std::vector<double>& bytes, const CheckpointPath& path) {
  const spec::Cluster c = spec::load_cluster(machine).value();
  const routing::Router router(c.topology, topology::RoutingPolicy::kStatic);
  return checkpoint_times(router, c.topology.gpus(), bytes, path).value();
}

TEST(Checkpoint, PartsOfAllRanksAreTheWholeState) {
  workload::LayoutSpec l = workload::small_layout(2, 2, 1, 2, 8);
  for (const bool experts : {false, true}) {
    const workload::ModelSpec m = experts ? workload::small_experts() : workload::small_model();
    l.ep = experts ? 2 : 1;
    const workload::LayoutSpec resolved = workload::resolve_layout(l, m, 0).value();
    const std::vector<double> shares = workload::checkpoint_shares(m, resolved);
    const double all = std::accumulate(shares.begin(), shares.end(), 0.0) * resolved.ranks() / resolved.pp;
    const double whole = 14.0 * static_cast<double>(workload::parameter_count(m));
    EXPECT_NEAR(all, whole, 1e-3 * whole) << m.name;  // TP ranks hold the same norms and the same router
  }
}

// Eight drives that write 4.25 GB/s each, one next to each GPU; 8.5 GB a GPU.
TEST(Checkpoint, DrivesWriteAtTheirRateAndReadAtThatOfTheirLinks) {
  const std::vector<double> bytes(8, 8.5e9);
  const CheckpointTimes direct = times_on("dgx-h100", bytes, {.drives = true, .direct = true});
  EXPECT_NEAR(direct.save_s, 2.0, 1e-3);
  EXPECT_LT(direct.load_s, 0.7 * direct.save_s);
  EXPECT_EQ(direct.save_link.find("nvme") != std::string::npos, true) << direct.save_link;
}

// One GPU of each socket's four: 53 GB/s of PCIe each; all four 213 GB/s of 307 GB/s of memory.
TEST(Checkpoint, CopiesToHostMemoryFillPcieAndNotTheMemory) {
  const CheckpointTimes one = times_on("dgx-h100", {10e9}, {});
  const CheckpointTimes all = times_on("dgx-h100", std::vector<double>(8, 10e9), {});
  EXPECT_NEAR(one.copy_s, all.copy_s, 1e-6);
  EXPECT_GT(all.copy_s, 10e9 / 64e9);
  EXPECT_EQ(all.copy_link.find("pcie") != std::string::npos, true) << all.copy_link;
}

// A copy in host memory is written and read: both load its bus. Direct data do not.
TEST(Checkpoint, GpudirectStorageIsNeverSlower) {
  for (const char* machine : {"dgx-h100", "dgx-a100", "dgx-b200"}) {
    for (const bool drives : {false, true}) {
      const std::vector<double> bytes(8, 4e9);
      const CheckpointTimes staged = times_on(machine, bytes, {drives, false});
      const CheckpointTimes direct = times_on(machine, bytes, {drives, true});
      EXPECT_LE(direct.save_s, staged.save_s * 1.0001) << machine << drives;
    }
  }
}

// NUMA nodes of two channels: pairs of GPUs fill the uplink of their PCIe switch, not the memory of one node.
TEST(Checkpoint, EachGpuCopiesToTheMemoryOfItsOwnNumaNode) {
  const CheckpointTimes t = times_on("dgx-a100", std::vector<double>(8, 7e9), {});
  EXPECT_LT(t.copy_s, 28e9 / 51.2e9);
  EXPECT_EQ(t.copy_link.find("numa"), std::string::npos) << t.copy_link;
}

TEST(Checkpoint, TheWriteLeavesHostMemoryOnceByTheNearestNics) {
  const topology::Topology t = spec::load_cluster("dgx-h100").value().topology;
  const CheckpointTimes times = times_on("dgx-h100", std::vector<double>(8, 4e9), {});
  double into_nics = 0;
  for (const engine::LinkUse& use : times.written) {
    EXPECT_NE(t.kind(t.from(use.link)), topology::DeviceKind::kGpu) << t.name(use.link);
    if (t.kind(t.to(use.link)) == topology::DeviceKind::kNic) into_nics += use.bytes;
  }
  EXPECT_NEAR(into_nics, 8 * 4e9, 1e3);
}

TEST(Checkpoint, EqualServersTakeAsLongAsOne) {
  const std::vector<double> bytes(8, 4e9), twice(16, 4e9);
  EXPECT_EQ(times_on("dgx-h100", bytes, {}).save_s, times_on("dgx-h100:2", twice, {}).save_s);
}

TEST(Checkpoint, ServersWithoutDrivesAreRefused) {
  const spec::Cluster c = spec::load_cluster("h100-pcie").value();
  const routing::Router router(c.topology, topology::RoutingPolicy::kStatic);
  const std::vector<double> bytes(c.topology.gpus().size(), 1e9);
  EXPECT_EQ(checkpoint_times(router, c.topology.gpus(), bytes, {.drives = true}).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace busbar::step
