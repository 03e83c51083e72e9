// Tables, matrices, networks, graphs: guarantees of their readers beyond the golden readings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/formats/fixture.h"
#include "busbar/formats/internal/hwloc_xml.h"
#include "busbar/formats/internal/ib_fabric.h"
#include "busbar/formats/internal/slurm_topology.h"
#include "busbar/formats/internal/smi_matrix.h"
#include "busbar/formats/nccl_graph_xml.h"
#include "busbar/formats/perf_table.h"
#include "busbar/topology/levels.h"
#include "busbar/topology/matrix.h"
#include "busbar/topology/path_type.h"

namespace busbar::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PerfResults table(const std::string& text) {
  LineSource source = LineSource::of_text(text, "t");
  auto r = read_perf_table(source);
  EXPECT_TRUE(r.ok()) << r.error().text();
  return std::move(r).value();
}

TEST(PerfTable, OldAndNewColumnsAreToldApart) {
  const PerfResults old = table(fixture("nccl-tests/superbench-nccl_allreduce.log"));
  ASSERT_EQ(old.tables.size(), 1u);
  EXPECT_EQ(old.tables[0].ranks.size(), 8u);
  EXPECT_EQ(old.tables[0].rows.back().size_bytes, 8'589'934'592u);
  EXPECT_EQ(old.tables[0].rows.back().out_of_place->busbw_GBps, 235.26);
  EXPECT_FALSE(old.tables[0].rows.back().out_of_place->wrong) << "N/A: not checked";
  EXPECT_EQ(old.tables[0].average_busbw_GBps, 68.4048);
  const PerfResults now = table(fixture("nccl-tests/mlperf50-google-8x8-h200-allreduce.txt"));
  EXPECT_EQ(now.tables.at(0).ranks.size(), 64u);
  EXPECT_EQ(now.tables[0].rows.at(0).in_place->busbw_GBps, 238.74);
  EXPECT_EQ(now.tables[0].rows[0].root, -1);
  EXPECT_EQ(now.tables[0].rows[0].out_of_place->wrong, 0.0);
}

TEST(PerfTable, BandwidthIsSizeByTimeInEveryRow) {
  for (const auto& file : std::filesystem::directory_iterator("tests/fixtures/nccl-tests")) {
    if (file.path().string().find("nvbandwidth") != std::string::npos) continue;
    for (const PerfTable& t : table(fixture("nccl-tests" / file.path().filename())).tables)
      for (const PerfRow& r : t.rows) {
        const double algbw = static_cast<double>(r.size_bytes) / r.out_of_place->time_us / 1e3;
        EXPECT_NEAR(r.out_of_place->algbw_GBps, algbw, 0.006 + 0.005 * algbw) << file.path() << ':' << r.line;
      }
  }
}

TEST(PerfTable, RowsThatAreCutOffAreListed) {
  const PerfResults r = table(
      "# nThread 1\n#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
      " 8 2 float sum -1 10.0 0.00 0.00 0 10.0 0.00 0.00 0\n 16 4 float su\nother\n");
  EXPECT_EQ(r.tables.at(0).rows.size(), 1u);
  EXPECT_THAT(r.unknown, ElementsAre(UnknownPart{4, "cut off: 16 4 float su", 1}));
  EXPECT_EQ(r.other_lines, 1u);
}

TEST(PerfJson, BothMakersReportsAreRead) {
  const auto nvidia = read_perf_json(
      R"({"version":2,"args":["./build/all_reduce_perf","-g","8"],"nccl_version":23007,"color":1,"results":[
          {"size":1024,"count":256,"type":"float","redop":"sum","root":"    -1",
           "out_of_place":{"time":10.0,"alg_bw":0.1,"bus_bw":0.175,"nwrong":0.0},"in_place":null}]})",
      "r.json");
  ASSERT_TRUE(nvidia.ok()) << nvidia.error().text();
  const PerfTable& t = nvidia->tables.at(0);
  EXPECT_EQ(t.collective, "all_reduce");
  EXPECT_EQ(t.rows.at(0).root, -1);
  EXPECT_EQ(t.rows[0].out_of_place->busbw_GBps, 0.175);
  EXPECT_FALSE(t.rows[0].in_place);
  EXPECT_THAT(nvidia->unknown, ElementsAre(UnknownPart{0, "key report.color", 1}));
  const auto amd = read_perf_json(
      R"([{"name":"AllReduce","ranks":8,"gpusPerRank":1,"size":8,"type":"float","redop":"sum","inPlace":0,
           "time":5.5,"algBw":1,"busBw":2,"wrong":"0"},
          {"name":"AllReduce","size":8,"type":"float","redop":"sum","inPlace":1,"time":6.5,"algBw":1,"busBw":2}])",
      "r.json");
  ASSERT_TRUE(amd.ok()) << amd.error().text();
  ASSERT_EQ(amd->tables.at(0).rows.size(), 1u);
  EXPECT_EQ(amd->tables[0].rows[0].in_place->time_us, 6.5);
  EXPECT_EQ(amd->tables[0].rank_count, 8);
  EXPECT_THAT(read_perf_json("{\"a\":\n [1,}", "r.json").error().text(), HasSubstr("r.json:2:5: not JSON"));
  EXPECT_FALSE(read_perf_json(std::string(100'000, '['), "r.json").ok());
  EXPECT_FALSE(read_perf_json("1e309", "r.json").ok()) << "no double holds it";
}

/// Words of a matrix with PHB and NODE as one: they differ only in the number of bridges of a socket.
std::vector<std::vector<std::string>> plain(std::vector<std::vector<std::string>> cells) {
  for (auto& row : cells)
    for (std::string& c : row) {
      c = trimmed(c);
      if (c == "PHB") c = "NODE";
    }
  return cells;
}

TEST(SmiMatrix, AMachineBuiltFromAMatrixHasThatMatrix) {
  for (const char* name :
       {"nvidia-smi-topo/gcp-a3ultra-h200-8gpu-8nic.txt", "nvidia-smi-topo/dstack-8xh100-1nic.txt"}) {
    const std::string text = fixture(name);
    const auto m = read_nvidia_smi_matrix(text, name);
    ASSERT_TRUE(m.ok()) << m.error().text();
    const auto cells = plain(topology::relation_matrix(m->topology, topology::BlockId{0}).cells);
    LineSource source = LineSource::of_text(text, name);
    std::string_view line;
    std::size_t row = 0;
    while (source.next(line)) {
      if (!(line.starts_with("GPU") || line.starts_with("NIC")) || line.find(" X ") == line.npos) continue;
      for (std::size_t column = 0; column < cells.size(); ++column) {
        line.remove_prefix(line.find('\t') + 1);
        EXPECT_EQ(trimmed(line.substr(0, line.find('\t'))), cells[row][column]) << name << ' ' << row << ' ' << column;
      }
      ++row;
    }
    EXPECT_EQ(row, cells.size());
  }
}

TEST(SmiMatrix, SmallCountsAreMeshesAndLargeOnesSwitches) {
  const auto matrix = [](const char* cell) {
    std::string text = "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\n";
    for (int i = 0; i < 3; ++i) {
      text += "GPU" + std::to_string(i);
      for (int j = 0; j < 3; ++j) text += i == j ? "\t X " : std::string("\t") + cell;
      text += "\t0-1\t0\n";
    }
    return read_nvidia_smi_matrix(text, "m").value();
  };
  EXPECT_EQ(topology::device_counts(matrix("NV6").topology).size(), 2u) << "GPUs and a CPU";
  EXPECT_EQ(topology::bonded_lanes(matrix("NV6").topology, topology::DeviceId{1}, topology::DeviceId{2}), 6u);
  const topology::Topology switched = matrix("NV30").topology;
  EXPECT_EQ(topology::device_counts(switched).size(), 3u);
  EXPECT_EQ(topology::bonded_lanes(switched, topology::DeviceId{1}, topology::DeviceId{2}), 30u);
}

TEST(SmiMatrix, ContradictionsAreRefusedAtTheirLine) {
  const auto error = [](const std::string& text) { return read_nvidia_smi_matrix(text, "m.txt").error().text(); };
  EXPECT_THAT(error("\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV2\t X \n"), HasSubstr("NV4 here, NV2 in the row of GPU1"));
  EXPECT_THAT(error("\tGPU0\tGPU1\nGPU0\t X \tNV4\n"), HasSubstr("1 rows for 2 columns"));
  EXPECT_THAT(error("\tGPU0\tGPU1\nGPU1\tNV4\t X \n"), HasSubstr("m.txt:2: row 'GPU1' does not follow"));
  EXPECT_THAT(error("\tGPU0\tGPU1\nGPU0\t X \n"), HasSubstr("row 'GPU0' has 1 cells, the header names 2"));
}

TEST(SmiMatrix, AmdsTablesMakeAFullMesh) {
  const auto m = read_rocm_smi_matrix(fixture("nvidia-smi-topo/rocm-smi-showtopo-8xmi300x.txt"), "m");
  ASSERT_TRUE(m.ok()) << m.error().text();
  ASSERT_EQ(m->topology.gpus().size(), 8u);
  for (const topology::DeviceId a : m->topology.gpus())
    for (const topology::DeviceId b : m->topology.gpus())
      if (a != b) EXPECT_EQ(topology::bonded_lanes(m->topology, a, b), 1u);
  EXPECT_EQ(m->topology.numa(m->topology.gpus()[7]), 1);
}

ImportedFabric fabric(const std::string& text) {
  LineSource source = LineSource::of_text(text, "ib");
  auto f = read_ibnetdiscover(source);
  EXPECT_TRUE(f.ok()) << f.error().text();
  return std::move(f).value();
}

TEST(IbFabric, ACableIsCountedOnceAndEveryBlockIsADevice) {
  const std::string text = fixture("ibnetdiscover/topograph-example.out");
  const ImportedFabric f = fabric(text);
  std::size_t blocks = 0, ports = 0;
  LineSource source = LineSource::of_text(text, "ib");
  std::string_view line;
  while (source.next(line)) {
    blocks += line.starts_with("Switch") || line.starts_with("Ca");
    ports += line.starts_with("[");
  }
  EXPECT_EQ(f.devices.size(), blocks);
  EXPECT_EQ(f.cables.size() * 2, ports) << "both ends are listed";
  EXPECT_TRUE(f.unknown.empty());
  std::size_t reducing = 0;
  for (const topology::DeviceId s : f.topology.fabric_switches()) reducing += f.topology.device_class(s).reduces;
  EXPECT_GT(reducing, 0u);
}

TEST(IbFabric, RatesAreDataRates) {
  const ImportedFabric f = fabric(fixture("ibnetdiscover/ibexporter-test.out"));
  EXPECT_EQ(f.unconnected, 2u);
  EXPECT_EQ(f.cables.size(), 4u);
  EXPECT_THAT(f.hosts, ElementsAre("o0001", "o0002", "p0001"));
  for (std::uint32_t l = 0; l < f.topology.link_count(); ++l)
    EXPECT_EQ(per_second(f.topology.link_class(static_cast<topology::LinkId>(l)).wire_rate), 12'500'000'000u)
        << "4x EDR";
  EXPECT_EQ(f.devices[0].name, "node0.HCA_1");
}

TEST(IbFabric, LinkInfoGivesRemarksAndPortsThatAreDown) {
  const std::string text =
      "CA: o0001 HCA-1:\n"
      "      0x7cfe9003003b4bde    134    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>    1719   10[  ] \"sw1\" "
      "( )\n"
      "Switch: 0x7cfe9003009ce5b0 sw1:\n"
      "        1719   10[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>     134    1[  ] \"o0001 HCA-1\" ( )\n"
      "        1719   11[  ] ==( 2X      25.78125 Gbps Active/  LinkUp)==>     135    1[  ] \"o0002 HCA-1\" ( Could be "
      "4X )\n"
      "        1719   12[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n";
  LineSource source = LineSource::of_text(text, "ib");
  const auto f = read_iblinkinfo(source);
  ASSERT_TRUE(f.ok()) << f.error().text();
  EXPECT_EQ(f->devices.size(), 3u);
  ASSERT_EQ(f->cables.size(), 2u);
  EXPECT_EQ(f->cables[1].remark, "Could be 4X");
  EXPECT_EQ(f->cables[1].width, 2);
  EXPECT_EQ(f->unconnected, 1u);
  EXPECT_THAT(f->hosts, ElementsAre("o0001", "o0002"));
  EXPECT_TRUE(f->unknown.empty());
}

TEST(IbFabric, WithoutLidsThePeerIsFoundByItsName) {  // no subnet manager runs
  const std::string text = fixture("ibsim/two-faults.iblinkinfo");
  LineSource source = LineSource::of_text(text, "ib");
  const auto f = read_iblinkinfo(source);
  ASSERT_TRUE(f.ok()) << f.error().text();
  EXPECT_EQ(f->devices.size(), 22u);
  EXPECT_EQ(f->cables.size(), 31u);
  EXPECT_THAT(f->hosts, ::testing::UnorderedElementsAre("node0", "node1", "node2", "node3"));
}

TEST(Slurm, HostListsAndTiers) {
  const Where w;
  EXPECT_THAT(*expand_host_list("n[1-3,07],m1", w), ElementsAre("n1", "n2", "n3", "n07", "m1"));
  EXPECT_THAT(*expand_host_list("r[1-2]n[08-09]", w), ElementsAre("r1n08", "r1n09", "r2n08", "r2n09"));
  EXPECT_FALSE(expand_host_list("n[1-999999999]", w).ok());
  EXPECT_FALSE(expand_host_list("n[1-2", w).ok());
  const auto s = read_slurm_topology(
      "# tree\nSwitchName=s1 Nodes=n[1-4]\nSwitchName=s2 Nodes=n[5-8] LinkSpeed=900\nSwitchName=top Switches=s[1-2] "
      "Foo=1\n",
      "topology.conf");
  ASSERT_TRUE(s.ok()) << s.error().text();
  EXPECT_EQ(s->topology.blocks().size(), 8u);
  EXPECT_TRUE(s->topology.find("spine0").ok());
  EXPECT_EQ(s->topology.link_count(), 2u * (8 + 2));
  EXPECT_THAT(s->unknown, ElementsAre(UnknownPart{4, "key Foo", 1}));
}

TEST(Slurm, ContradictionsStandAtTheirLine) {
  const auto error = [](const char* text) { return read_slurm_topology(text, "t.conf").error().text(); };
  EXPECT_THAT(error("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n"), HasSubstr("t.conf:2: b: n1 is below another"));
  EXPECT_THAT(error("SwitchName=a Switches=b\nSwitchName=b Switches=a\n"), HasSubstr("in a circle"));
  EXPECT_THAT(error("SwitchName=a Switches=z\n"), HasSubstr("t.conf:1: a: no switch is called 'z'"));
  EXPECT_THAT(error("SwitchName=a\nSwitchName=a\n"), HasSubstr("a is already in line 1"));
  EXPECT_THAT(error("Nodes\n"), HasSubstr("t.conf:1: 'Nodes' is not a KEY=VALUE"));
}

TEST(GraphXml, WrittenGraphsReadBackEqual) {
  const auto file = read_nccl_graph_xml(fixture("nccl-graph/azure-ncv4-graph.xml"), "g.xml");
  ASSERT_TRUE(file.ok()) << file.error().text();
  ASSERT_FALSE(file->graphs.empty());
  EXPECT_EQ(file->graphs[0].channels.size(), 2u);
  EXPECT_EQ(file->graphs[0].type_intra, "SYS");
  NcclGraphRecord g = file->graphs[0];
  g.speed_intra = 20.6;
  g.channels[0].net_in = 0x1f;
  g.channels[0].net_out = 16;
  g.channels[0].gpus[0] = {12, 3};
  const std::vector<NcclGraphRecord> graphs{g, file->graphs.back()};
  const std::string text = write_nccl_graph_xml(graphs);
  EXPECT_THAT(text, HasSubstr("<net dev=\"1f\"/>"));
  EXPECT_THAT(text, HasSubstr("<gpu dev=\"c\" rank=\"3\"/>"));
  EXPECT_EQ(read_nccl_graph_xml(text, "again.xml")->graphs, graphs);
}

TEST(GraphXml, ChannelsMustBeAsManyAsSaid) {
  EXPECT_THAT(read_nccl_graph_xml("<graphs>\n<graph id=\"0\" nchannels=\"2\"><channel/></graph></graphs>", "g.xml")
                  .error()
                  .text(),
              HasSubstr("g.xml:2:1: graph.nchannels: says 2 channels and holds 1"));
}

TEST(Hwloc, ADgx2HasItsGpusOnSixPlanesOfSwitches) {
  const auto m = read_hwloc_xml(fixture("hwloc-xml/nvidiaDGX2.xml"), "m.xml");
  ASSERT_TRUE(m.ok()) << m.error().text();
  ASSERT_EQ(m->topology.gpus().size(), 16u);
  for (const topology::DeviceId g : m->topology.gpus()) {
    double GBps = 0;
    for (const topology::LinkId l : m->topology.out_links(g))
      if (m->topology.link_class(l).kind == topology::LinkKind::kNvlink)
        GBps += static_cast<double>(per_second(m->topology.link_class(l).wire_rate)) / 1e9;
    EXPECT_EQ(GBps, 150) << "6 NVLink 2 of 25 GB/s";
  }
  const topology::BlockPaths paths(m->topology, m->topology.gpus()[0], topology::GpuRelay::kNo);
  EXPECT_EQ(paths.type(m->topology.gpus()[1]), topology::PathType::kNvl);
  EXPECT_EQ(paths.type(m->topology.gpus()[15]), topology::PathType::kSys)
      << "hwloc does not see the trunks between the boards";
  EXPECT_EQ(m->topology.numa(m->topology.gpus()[15]), 1);
}

TEST(Hwloc, PortsAreOpenFabricsDevices) {
  const auto m = read_hwloc_xml(fixture("hwloc-xml/32em64t-2n8c2t-pci-normalio.xml"), "m.xml");
  ASSERT_TRUE(m.ok()) << m.error().text();
  ASSERT_EQ(m->ports.size(), 1u);
  EXPECT_EQ(m->topology.name(m->ports[0].nic), "node0.mlx5_0");
}

}  // namespace
}  // namespace busbar::formats
