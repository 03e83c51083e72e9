// Presets written for NCCL and read back: the same GPUs at equal distances from each other and from NICs; equal rings.
#include <gtest/gtest.h>

#include "busbar/formats/nccl_topo_xml_reader.h"
#include "busbar/formats/nccl_topo_xml_writer.h"
#include "busbar/nccl/comm.h"
#include "busbar/spec/cluster.h"
#include "busbar/topology/path_type.h"

namespace busbar {
namespace {

constexpr const char* kPresets[] = {"dgx-h100",  "dgx-a100",   "dgx-b200", "dgx-1v",  "hgx-h100-4",
                                    "a100-pcie", "azure-ndv4", "aws-p5",   "mi300x-8"};

TEST(Presets, SurviveNcclsTopologyFile) {
  for (const char* preset : kPresets) {
    const Cluster cluster = load_cluster(preset).value();
    const Topology& a = cluster.topology;
    const auto text = write_nccl_topo_xml(a, BlockId{0});
    ASSERT_TRUE(text.ok()) << preset << ": " << text.error().text();
    const auto read = read_nccl_topo_xml(*text, preset);
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Topology& b = read->topology;
    EXPECT_TRUE(read->unknown.empty()) << preset;
    const std::string again = write_nccl_topo_xml(b, BlockId{0}).value();  // without the bus ids of drives
    EXPECT_EQ(write_nccl_topo_xml(read_nccl_topo_xml(again, preset).value().topology, BlockId{0}).value(), again);
    ASSERT_EQ(b.gpus().size(), a.gpus().size()) << preset;
    for (std::size_t i = 0; i < a.gpus().size(); ++i) {
      const BlockPaths from_a(a, a.gpus()[i], GpuRelay::kYes), from_b(b, b.gpus()[i], GpuRelay::kYes);
      for (std::size_t j = 0; j < a.gpus().size(); ++j)
        EXPECT_EQ(name_of(from_a.type(a.gpus()[j])), name_of(from_b.type(b.gpus()[j])))
            << preset << " gpu" << i << " gpu" << j;
    }
  }
}

TEST(Presets, HaveTheSameRingsWhenReadBack) {
  for (const char* preset : {"dgx-h100", "dgx-a100", "dgx-1v", "azure-ndv4"}) {
    const Cluster cluster = load_cluster(preset).value();
    const auto text = write_nccl_topo_xml(cluster.topology, BlockId{0}).value();
    const Topology read = read_nccl_topo_xml(text, preset).value().topology;
    const NcclComm a = build_nccl_comm(cluster.topology, cluster.topology.gpus(), {}).value();
    const NcclComm b = build_nccl_comm(read, read.gpus(), {}).value();
    ASSERT_EQ(a.channels, b.channels) << preset;
    for (std::uint32_t c = 0; c < a.channels; ++c) EXPECT_EQ(nccl_ring(a, c).order, nccl_ring(b, c).order) << preset;
  }
}

}  // namespace
}  // namespace busbar
