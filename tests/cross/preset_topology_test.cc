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
    const spec::Cluster cluster = spec::load_cluster(preset).value();
    const topology::Topology& a = cluster.topology;
    const auto text = formats::write_nccl_topo_xml(a, topology::BlockId{0});
    ASSERT_TRUE(text.ok()) << preset << ": " << text.error().text();
    const auto read = formats::read_nccl_topo_xml(*text, preset);
    ASSERT_TRUE(read.ok()) << read.error().text();
    const topology::Topology& b = read->topology;
    EXPECT_TRUE(read->unknown.empty()) << preset;
    const std::string again =
        formats::write_nccl_topo_xml(b, topology::BlockId{0}).value();  // without the bus ids of drives
    EXPECT_EQ(
        formats::write_nccl_topo_xml(formats::read_nccl_topo_xml(again, preset).value().topology, topology::BlockId{0})
            .value(),
        again);
    ASSERT_EQ(b.gpus().size(), a.gpus().size()) << preset;
    for (std::size_t i = 0; i < a.gpus().size(); ++i) {
      const topology::BlockPaths from_a(a, a.gpus()[i], topology::GpuRelay::kYes),
          from_b(b, b.gpus()[i], topology::GpuRelay::kYes);
      for (std::size_t j = 0; j < a.gpus().size(); ++j)
        EXPECT_EQ(topology::name_of(from_a.type(a.gpus()[j])), topology::name_of(from_b.type(b.gpus()[j])))
            << preset << " gpu" << i << " gpu" << j;
    }
  }
}

TEST(Presets, HaveTheSameRingsWhenReadBack) {
  for (const char* preset : {"dgx-h100", "dgx-a100", "dgx-1v", "azure-ndv4"}) {
    const spec::Cluster cluster = spec::load_cluster(preset).value();
    const auto text = formats::write_nccl_topo_xml(cluster.topology, topology::BlockId{0}).value();
    const topology::Topology read = formats::read_nccl_topo_xml(text, preset).value().topology;
    const nccl::NcclComm a = nccl::build_nccl_comm(cluster.topology, cluster.topology.gpus(), {}).value();
    const nccl::NcclComm b = nccl::build_nccl_comm(read, read.gpus(), {}).value();
    ASSERT_EQ(a.channels, b.channels) << preset;
    for (std::uint32_t c = 0; c < a.channels; ++c)
      EXPECT_EQ(nccl::nccl_ring(a, c).order, nccl::nccl_ring(b, c).order) << preset;
  }
}

}  // namespace
}  // namespace busbar
