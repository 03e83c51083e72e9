#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "busbar/formats/nccl_topo_xml_reader.h"
#include "busbar/formats/nccl_topo_xml_writer.h"
#include "busbar/topology/matrix.h"
#include "busbar/topology/path_type.h"

namespace busbar::formats {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

ImportedMachine sample(const std::string& name) {
  const std::string path = "tests/fixtures/" + name;
  auto machine = read_nccl_topo_xml(slurp(path), path);
  EXPECT_TRUE(machine.ok()) << machine.error().text();
  return std::move(machine).value();
}

std::size_t count(const topology::Topology& t, topology::DeviceKind kind) {
  std::size_t n = 0;
  for (std::uint32_t d = 0; d < t.device_count(); ++d) n += t.kind(static_cast<topology::DeviceId>(d)) == kind;
  return n;
}

/// Lanes of a device's outgoing links of this kind.
std::uint32_t lanes(const topology::Topology& t, topology::DeviceId d, topology::LinkKind kind) {
  std::uint32_t n = 0;
  for (const topology::LinkId l : t.out_links(d))
    if (t.link_class(l).kind == kind) n += t.link_class(l).lanes;
  return n;
}

TEST(NcclTopoReader, AnH100HostHasItsSwitchesPortsAndPaths) {
  const ImportedMachine m = sample("nccl-topo/oci-H100-topology.xml");
  const topology::Topology& t = m.topology;
  EXPECT_EQ(t.gpus().size(), 8u);
  EXPECT_EQ(count(t, topology::DeviceKind::kNvSwitch), 4u);
  EXPECT_EQ(count(t, topology::DeviceKind::kCpu), 2u);
  ASSERT_EQ(m.ports.size(), 16u);
  EXPECT_EQ(m.ports[3].name, "mlx5_4");
  EXPECT_EQ(m.ports[3].speed_mbps, 180'000);
  EXPECT_EQ(m.ports[2].nic, m.ports[3].nic) << "two ports of one function";
  for (const topology::DeviceId g : t.gpus()) {
    EXPECT_EQ(lanes(t, g, topology::LinkKind::kNvlink), 18u);
    EXPECT_EQ(t.device_class(g).compute_capability, 90);
    EXPECT_EQ(m.devices[index(g)].rank, static_cast<int>(index(g) - index(t.gpus()[0])));
  }
  const topology::BlockPaths paths(t, t.gpus()[0], topology::GpuRelay::kNo);
  EXPECT_EQ(paths.type(t.gpus()[7]), topology::PathType::kNvl);
  EXPECT_EQ(paths.type(m.ports[0].nic), topology::PathType::kPxb) << "two levels of switches";
  EXPECT_EQ(paths.type(m.ports[15].nic), topology::PathType::kSys);
  EXPECT_TRUE(m.unknown.empty());
}

TEST(NcclTopoReader, AFileForVirtualMachinesNamesGpusByClassAlone) {
  const ImportedMachine m = sample("nccl-topo/azure-ndv5-topo.xml");
  EXPECT_EQ(m.topology.gpus().size(), 8u);
  EXPECT_EQ(count(m.topology, topology::DeviceKind::kNic), 8u);
  EXPECT_THAT(m.notes, Contains(HasSubstr("GPUs without a gpu element")));
  const topology::BlockPaths paths(m.topology, m.topology.gpus()[0], topology::GpuRelay::kNo);
  EXPECT_EQ(paths.type(*m.topology.find("node0.nic0")), topology::PathType::kPix);
}

TEST(NcclTopoReader, AFileWithoutGpusIsLegalAndItsFunctionsAreListed) {
  const ImportedMachine m = sample("nccl-topo/aws-p5.48xl-topo.xml");
  EXPECT_TRUE(m.topology.gpus().empty());
  EXPECT_EQ(count(m.topology, topology::DeviceKind::kPcieSwitch), 8u);
  ASSERT_EQ(m.unknown.size(), 1u);
  EXPECT_EQ(m.unknown[0], (UnknownPart{18, "pci without class or children", 32}));
}

TEST(NcclTopoReader, AmdMeshesAreJoinedDirectly) {
  const ImportedMachine m = sample("rccl-topo/topo_8p_942.xml");
  EXPECT_EQ(m.version, 2);
  for (const topology::DeviceId a : m.topology.gpus()) {
    EXPECT_EQ(m.topology.device_class(a).architecture, "gfx942");
    EXPECT_EQ(lanes(m.topology, a, topology::LinkKind::kXgmi), 7u);
    for (const topology::DeviceId b : m.topology.gpus())
      if (a != b) EXPECT_EQ(topology::bonded_lanes(m.topology, a, b), 1u);
  }
}

TEST(NcclTopoReader, EverySampleBecomesAMachineWithoutUnknownDevices) {
  std::size_t files = 0;
  for (const char* folder : {"nccl-topo", "rccl-topo"})
    for (const auto& entry : std::filesystem::directory_iterator(std::string("tests/fixtures/") + folder)) {
      const std::string text = slurp(entry.path());
      const auto machine = read_nccl_topo_xml(text, entry.path());
      ASSERT_TRUE(machine.ok()) << machine.error().text();
      const auto occurrences = [&](const char* pattern) {
        const std::regex re(pattern);
        return static_cast<std::size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), re), {}));
      };
      const std::size_t gpus = occurrences("<gpu ");
      if (gpus > 0) EXPECT_EQ(machine->topology.gpus().size(), gpus) << entry.path();
      EXPECT_EQ(machine->ports.size(), occurrences("<net ")) << entry.path();
      EXPECT_EQ(count(machine->topology, topology::DeviceKind::kCpu), occurrences("<cpu ")) << entry.path();
      for (const UnknownPart& u : machine->unknown)
        EXPECT_THAT(u.what, testing::AnyOf(HasSubstr("pci without class"), HasSubstr("not in this file"),
                                           HasSubstr("already in line")))
            << entry.path();
      ++files;
    }
  EXPECT_EQ(files, 12u + 63u);
}

constexpr const char* kSmall = R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="8" foo="1">
        <gpu dev="1" sm="80" rank="0" gdr="1">
          <nvlink target="0000:03:00.0" count="4" tclass="0x030200"/>
          <nvlink target="0000:99:00.0" count="2" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:03:00.0" class="0x030200" link_speed="" link_width="0">
        <gpu dev="0" sm="80" rank="1"><nvlink target="0000:02:00.0" count="4" tclass="0x030200"/><c2c bw="1000" count="5"/></gpu>
      </pci>
    </pci>
    <nic><net name="eth0" dev="0" speed="10000" guid="0x1"/></nic>
    <thing/>
  </cpu>
</system>
)";

TEST(NcclTopoReader, EveryAttributeCountsOrIsListed) {
  const auto m = read_nccl_topo_xml(kSmall, "small.xml");
  ASSERT_TRUE(m.ok()) << m.error().text();
  const topology::Topology& t = m->topology;
  ASSERT_EQ(t.gpus().size(), 2u);
  EXPECT_EQ(m->devices[index(t.gpus()[0])].bus_id, "0000:02:00.0") << "ranks give the order";
  EXPECT_EQ(topology::bonded_lanes(t, t.gpus()[0], t.gpus()[1]), 4u) << "both ends name the same lanes";
  EXPECT_EQ(lanes(t, t.gpus()[1], topology::LinkKind::kC2c), 5u);
  EXPECT_EQ(lanes(t, t.gpus()[0], topology::LinkKind::kPcie), 8u);
  EXPECT_EQ(lanes(t, t.gpus()[1], topology::LinkKind::kPcie), 16u) << "width 0 is 16";
  for (const topology::LinkId l : t.out_links(t.gpus()[0]))
    if (t.link_class(l).kind == topology::LinkKind::kPcie)
      EXPECT_EQ(per_second(t.link_class(l).wire_rate), 16'000'000'000u);
  EXPECT_EQ(t.device_class(*t.find("node0.cpu0")).processor.family, 23);
  EXPECT_EQ(topology::BlockPaths(t, t.gpus()[0], topology::GpuRelay::kNo).type(*t.find("node0.eth0")),
            topology::PathType::kPhb);
  EXPECT_THAT(m->unknown,
              testing::UnorderedElementsAre(UnknownPart{4, "attribute pci.foo", 1}, UnknownPart{15, "element thing", 1},
                                            UnknownPart{7, "link to 0000:99:00.0, which is not in this file", 1}));
  EXPECT_THAT(m->notes, Contains(HasSubstr("nvlink lanes of GPUs of compute capability 8.0: no figure is known")));
}

TEST(NcclTopoReader, FunctionsOfOnePciDeviceAreOneCard) {
  std::string text = R"(<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="143")";
  text += R"( modelid="49">)";
  for (const char* bus : {"0000:0c:00.0", "0000:0c:00.1", "0001:0c:00.0"})
    text += std::string("<pci busid=\"") + bus + R"(" class="0x020000"><nic><net name="mlx5_)" + bus[11] + bus[3] +
            R"(" dev="0" speed="200000" guid="0x1"/></nic></pci>)";
  const auto m = read_nccl_topo_xml(text + "</cpu></system>", "cards.xml");
  ASSERT_TRUE(m.ok()) << m.error().text();
  std::vector<topology::TemplateDevice> nics;
  for (const topology::TemplateDevice& d : m->topology.templates()[0].devices)
    if (d.device_class.kind == topology::DeviceKind::kNic) nics.push_back(d);
  ASSERT_EQ(nics.size(), 3u);
  EXPECT_EQ(nics[0].card, nics[1].card);
  EXPECT_NE(nics[0].card, nics[2].card) << "another PCI domain";
  EXPECT_EQ(nics[1].bus_id, 0x0c001u);
  EXPECT_EQ(nics[2].bus_id, 0x10c000u);
}

TEST(NcclTopoReader, FiguresGiveLanesTheirRate) {
  topology::PartFigures figures;
  topology::LinkClass lane;
  lane.kind = topology::LinkKind::kNvlink;
  lane.wire_rate = BytesPerSecond{25'000'000'000};
  lane.part = "nvlink3";
  topology::DeviceClass gpu;
  gpu.compute_capability = 80;
  figures.gpus.push_back({gpu, {}, lane});
  const auto m = read_nccl_topo_xml(kSmall, "small.xml", figures);
  ASSERT_TRUE(m.ok());
  for (const topology::LinkId l : m->topology.out_links(m->topology.gpus()[0])) {
    const topology::LinkClass& c = m->topology.link_class(l);
    if (c.kind != topology::LinkKind::kNvlink) continue;
    EXPECT_EQ(per_second(c.wire_rate), 100'000'000'000u);
    EXPECT_EQ(c.part, "nvlink3 x4");
  }
}

TEST(NcclTopoReader, ErrorsStandAtTheirLine) {
  const auto error = [](std::string text) { return read_nccl_topo_xml(text, "f.xml").error().text(); };
  const std::string head = "<system version=\"1\">\n<cpu numaid=\"0\">\n";
  EXPECT_THAT(error("<graphs/>"), HasSubstr("f.xml:1:1: graphs: a topology file begins with <system>"));
  EXPECT_THAT(error("<system version=\"1\"/>"), HasSubstr("at least one cpu element"));
  EXPECT_THAT(error(head + "<pci busid=\"zz\"/></cpu></system>"), HasSubstr("f.xml:3:1: pci.busid: 'zz' is not a PCI"));
  EXPECT_THAT(error(head + "<pci/></cpu></system>"), HasSubstr("f.xml:3:1: pci.busid: is missing"));
  EXPECT_THAT(error(head + "<pci busid=\"1:0\" class=\"zebra\"/></cpu></system>"), HasSubstr("pci.class: 'zebra'"));
  EXPECT_THAT(error(head + "</cpu><cpu numaid=\"0\"/></system>"), HasSubstr("NUMA node 0 is already in line 2"));
  EXPECT_THAT(error(head + "<nic><net speed=\"-5\"/></nic></cpu></system>"), HasSubstr("net.speed: -5 is outside"));
  EXPECT_THAT(error(head), HasSubstr("f.xml:"));
}

TEST(NcclTopoReader, WrittenFilesAreReadAndWrittenAgainEqual) {
  for (const char* name :
       {"nccl-topo/oci-H100-topology.xml", "nccl-topo/oci-topo-flattened.xml", "rccl-topo/topo_8p_942.xml",
        "rccl-topo/topo_4p3l_2h.xml", "rccl-topo/topo_8p_rome_4n_1.xml"}) {
    const ImportedMachine first = sample(name);
    const auto text = write_nccl_topo_xml(first.topology, topology::BlockId{0});
    ASSERT_TRUE(text.ok()) << text.error().text();
    const auto second = read_nccl_topo_xml(*text, "again.xml");
    ASSERT_TRUE(second.ok()) << second.error().text();
    EXPECT_EQ(*write_nccl_topo_xml(second->topology, topology::BlockId{0}), *text) << name;
    EXPECT_EQ(topology::relation_matrix(second->topology, topology::BlockId{0}).cells,
              topology::relation_matrix(first.topology, topology::BlockId{0}).cells)
        << name;
  }
}

}  // namespace
}  // namespace busbar::formats
