#include "busbar/formats/internal/gpu_naming.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/formats/internal/smi_matrix.h"

namespace busbar::formats {
namespace {

topology::PartFigures::Gpu product(const char* name, int capability, std::uint64_t lane_GBps) {
  topology::PartFigures::Gpu g;
  g.device_class.part = name;
  g.device_class.kind = topology::DeviceKind::kGpu;
  g.device_class.compute_capability = capability;
  g.lane.emplace();
  g.lane->kind = topology::LinkKind::kNvlink;
  g.lane->wire_rate = BytesPerSecond{lane_GBps * 1'000'000'000};
  g.host_pcie = 5;
  return g;
}

/// Two products with equal links between four GPUs, and one of a mesh.
topology::PartFigures two_products() {
  topology::PartFigures f;
  f.gpus = {product("first", 90, 25), product("second", 90, 30), product("third", 80, 20)};
  f.signatures = {{4, 18, topology::LinkKind::kNvlink, topology::PartFigures::Joined::kSwitch, {"first", "second"}},
                  {4, 6, topology::LinkKind::kNvlink, topology::PartFigures::Joined::kMesh, {"third"}}};
  f.pcie.resize(6);
  return f;
}

/// As nvidia-smi prints it: `lanes` links between every two of n GPUs.
std::string matrix_of(int n, int lanes) {
  std::string out;
  for (int g = 0; g < n; ++g) out += "\tGPU" + std::to_string(g);
  out += "\tCPU Affinity\tNUMA Affinity\n";
  for (int g = 0; g < n; ++g) {
    out += "GPU" + std::to_string(g);
    for (int p = 0; p < n; ++p) out += p == g ? "\t X " : "\tNV" + std::to_string(lanes);
    out += "\t0-7\t0\n";
  }
  return out;
}

double rate_of_first_link(const ImportedMachine& m) {
  for (const topology::LinkId l : m.topology.out_links(m.topology.gpus().front()))
    if (topology::is_scale_up(m.topology.link_class(l).kind))
      return static_cast<double>(per_second(m.topology.link_class(l).wire_rate)) / 1e9;
  return 0;
}

std::string part_of_first(const ImportedMachine& m) { return m.topology.device_class(m.topology.gpus().front()).part; }

TEST(GpuNaming, TakesTheFirstProductThatShowsSuchLinksAndNamesTheOthers) {
  const auto m = read_nvidia_smi_matrix(matrix_of(4, 18), "m", two_products());
  ASSERT_TRUE(m.ok()) << m.error().text();
  EXPECT_EQ(part_of_first(*m), "first");
  EXPECT_EQ(rate_of_first_link(*m), 18 * 25);
  EXPECT_EQ(m->unnamed, "");
  EXPECT_THAT(m->notes, testing::Contains(testing::HasSubstr("if they are second, say so with --gpu")));
}

TEST(GpuNaming, TellsAMeshFromASwitch) {
  const auto m = read_nvidia_smi_matrix(matrix_of(4, 2), "m", two_products());
  ASSERT_TRUE(m.ok()) << m.error().text();
  EXPECT_EQ(part_of_first(*m), "third");
  EXPECT_EQ(rate_of_first_link(*m), 2 * 20);
}

TEST(GpuNaming, TheUsersProductOverridesTheSignature) {
  topology::PartFigures f = two_products();
  f.given_gpu = "second";
  const auto m = read_nvidia_smi_matrix(matrix_of(4, 18), "m", f);
  ASSERT_TRUE(m.ok()) << m.error().text();
  EXPECT_EQ(part_of_first(*m), "second");
  EXPECT_EQ(rate_of_first_link(*m), 18 * 30);
}

TEST(GpuNaming, OtherLinksThanAnyProductHasStayUnnamed) {
  for (const auto& [n, lanes] : {std::pair(4, 17), std::pair(5, 18), std::pair(2, 1)}) {
    const auto m = read_nvidia_smi_matrix(matrix_of(n, lanes), "m", two_products());
    ASSERT_TRUE(m.ok()) << m.error().text();
    EXPECT_THAT(m->unnamed, testing::HasSubstr("--gpu")) << n << ' ' << lanes;
  }
}

TEST(GpuNaming, WithoutProductsNothingIsNamed) {
  const auto m = read_nvidia_smi_matrix(matrix_of(4, 18), "m", {});
  ASSERT_TRUE(m.ok()) << m.error().text();
  EXPECT_EQ(part_of_first(*m), "");
}

TEST(GpuNaming, AnUnknownProductIsRefused) {
  topology::PartFigures f = two_products();
  f.given_gpu = "thirt";
  const auto m = read_nvidia_smi_matrix(matrix_of(4, 18), "m", f);
  ASSERT_FALSE(m.ok());
  EXPECT_THAT(m.error().text(), testing::HasSubstr("did you mean 'third'?"));
}

}  // namespace
}  // namespace busbar::formats
