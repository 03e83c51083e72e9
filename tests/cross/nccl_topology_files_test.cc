// NCCL's rings from NCCL's own topology files: only the wiring counts, not the numbers on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <regex>
#include <set>

#include "busbar/formats/nccl_topo_xml_reader.h"
#include "busbar/nccl/comm.h"
#include "busbar/nccl/system.h"

namespace busbar {
namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Replaces every bus id by another one, in reverse order of the file, everywhere.
std::string renumbered(const std::string& text) {
  static const std::regex kBusId("[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-9a-f]");
  std::map<std::string, std::string> other;
  for (std::sregex_iterator it(text.begin(), text.end(), kBusId), end; it != end; ++it) other[it->str()] = "";
  unsigned number = static_cast<unsigned>(other.size());
  for (auto& [id, fresh] : other) {
    char name[32];
    std::snprintf(name, sizeof name, "%04x:%02x:00.0", 0x70 + number / 256, number % 256);
    fresh = name;
    --number;
  }
  std::string out;
  auto at = text.cbegin();
  for (std::sregex_iterator it(text.begin(), text.end(), kBusId), end; it != end; ++it) {
    out.append(at, (*it)[0].first);
    out += other[it->str()];
    at = (*it)[0].second;
  }
  out.append(at, text.cend());
  return out;
}

nccl::NcclComm comm_of(const std::string& text, std::span<const std::uint32_t> visible = {}) {
  const formats::ImportedMachine m = formats::read_nccl_topo_xml(text, "file.xml").value();
  std::vector<topology::DeviceId> gpus(m.topology.gpus().begin(), m.topology.gpus().end());
  if (!visible.empty()) {
    std::vector<topology::DeviceId> some;
    for (const std::uint32_t g : visible) some.push_back(gpus[g]);
    gpus = some;
  }
  return nccl::build_nccl_comm(m.topology, gpus, {}, 2).value();
}

const char* const kFiles[] = {"nccl-topo/oci-H100-topology.xml", "rccl-topo/topo_8p_942.xml",
                              "rccl-topo/topo_8p_90a.xml",       "rccl-topo/topo_4p3l.xml",
                              "rccl-topo/topo_8p_950.xml",       "rccl-topo/topo_16p1h.xml"};

TEST(NcclTopologyFiles, RenumberedBusIdsChangeNoRingAndNoTree) {
  for (const char* file : kFiles) {
    const std::string text = text_of(std::filesystem::path("tests/fixtures") / file);
    ASSERT_FALSE(text.empty()) << file;
    ASSERT_NE(renumbered(text), text) << file;
    const nccl::NcclComm a = comm_of(text), b = comm_of(renumbered(text));
    ASSERT_EQ(a.channels, b.channels) << file;
    EXPECT_EQ(a.nvls_channels, b.nvls_channels) << file;
    for (std::uint32_t c = 0; c < a.channels; ++c) {
      EXPECT_EQ(nccl::nccl_ring(a, c).order, nccl::nccl_ring(b, c).order) << file << " channel " << c;
      EXPECT_EQ(nccl::nccl_tree(a, c).up, nccl::nccl_tree(b, c).up) << file << " channel " << c;
    }
  }
}

TEST(NcclTopologyFiles, HiddenGpusLeaveRingsOfTheOthers) {
  const std::uint32_t visible[] = {0, 1, 4, 7};
  for (const char* file : {kFiles[0], kFiles[1]}) {
    const nccl::NcclComm c = comm_of(text_of(std::filesystem::path("tests/fixtures") / file), visible);
    ASSERT_EQ(c.ranks, 8u);
    for (std::uint32_t ch = 0; ch < c.channels; ++ch) {
      const nccl::NcclRing ring = nccl::nccl_ring(c, ch);
      EXPECT_EQ(std::set<std::uint32_t>(ring.order.begin(), ring.order.end()).size(), 8u) << file;
    }
  }
}

/// A switch chip of 8 x H100 appears as three PCIe bridges: several switches for users, one for NCCL.
TEST(NcclTopologyFiles, TheTwoLevelsOfOneSwitchAreOneSwitchForNccl) {
  const std::string text = text_of("tests/fixtures/nccl-topo/oci-H100-topology.xml");
  const auto type_of = [](const std::string& xml) {
    const formats::ImportedMachine m = formats::read_nccl_topo_xml(xml, "file.xml").value();
    std::vector<std::uint32_t> ranks(m.topology.gpus().size());
    std::iota(ranks.begin(), ranks.end(), 0u);
    const nccl::NcclSystem s = nccl::build_nccl_system(m.topology, m.topology.gpus(), ranks, true, {}).value();
    return s.gpu_net.at(0, 0).type;
  };
  EXPECT_EQ(type_of(text), topology::PathType::kPix);
  EXPECT_EQ(type_of(std::regex_replace(text, std::regex("0xc030"), "0x1234")), topology::PathType::kPxb)
      << "by its id only";
  const formats::ImportedMachine m = formats::read_nccl_topo_xml(text, "file.xml").value();
  const auto up = std::find_if(
      m.topology.out_links(m.topology.gpus()[0]).begin(), m.topology.out_links(m.topology.gpus()[0]).end(),
      [&](topology::LinkId l) { return m.topology.kind(m.topology.to(l)) == topology::DeviceKind::kPcieSwitch; });
  ASSERT_NE(up, m.topology.out_links(m.topology.gpus()[0]).end());
  EXPECT_TRUE(m.topology.device_class(m.topology.to(*up)).lower_level);
}

/// RCCL's topology files describe the machines of its models. Lists the model of each, with one node and with two.
TEST(NcclTopologyFiles, RcclKnowsItsOwnMachines) {
  struct Known {
    const char* file;
    int alone, together;  ///< number of the model; 0: none
  };
  const Known kKnown[] = {
      {"16p1h", 56, 59},        {"4p3l_2h", 28, 29},    {"4p3l_n2", 0, 40}, {"4p3l_n2_1", 48, 44},
      {"4p3l_n4", 0, 42},       {"8p1h", 66, 67},       {"8p1h_1", 71, 72}, {"8p1h_3", 73, 74},
      {"8p1h_4", 71, 76},       {"8p_4nics", 48, 49},   {"8p_90a", 52, 0},  {"8p_90a_1", 58, 0},
      {"8p_940", 79, 81},       {"8p_942", 79, 81},     {"8p_950", 79, 81}, {"8p_rome_n4_1", 45, 46},
      {"8p_rome_4n_1", 48, 49}, {"8p_rome_pcie", 0, 0}, {"4p_942", 0, 0},   {"8p6l", 0, 0}};
  for (const Known& k : kKnown) {
    const std::string path = std::string("tests/fixtures/rccl-topo/topo_") + k.file + ".xml";
    const formats::ImportedMachine m = formats::read_nccl_topo_xml(text_of(path), path).value();
    for (const std::uint32_t nodes : {1u, 2u}) {
      const nccl::NcclComm c = nccl::build_nccl_comm(m.topology, m.topology.gpus(), {}, nodes).value();
      const auto& match = c.shapes.front().graphs.rccl;
      EXPECT_EQ(match ? match->number : 0, nodes == 1 ? k.alone : k.together) << k.file << " x " << nodes;
    }
  }
}

/// Every topology file of the samples whose GPUs are known gives sound rings and trees.
TEST(NcclTopologyFiles, AllOfThemGiveRingsOfAllGpus) {
  int machines = 0;
  for (const char* folder : {"tests/fixtures/nccl-topo", "tests/fixtures/rccl-topo"})
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const auto m = formats::read_nccl_topo_xml(text_of(entry.path()), entry.path().string());
      if (!m.ok() || m->topology.gpus().empty()) continue;
      const auto comm = nccl::build_nccl_comm(m->topology, m->topology.gpus(), {});
      if (!comm.ok()) {
        EXPECT_EQ(comm.error().code, ErrorCode::kUnsupported) << entry.path();
        continue;
      }
      ++machines;
      EXPECT_GT(comm->channels, 0u) << entry.path();
      for (std::uint32_t c = 0; c < comm->channels; ++c) {
        const nccl::NcclRing ring = nccl::nccl_ring(*comm, c);
        EXPECT_EQ(std::set<std::uint32_t>(ring.order.begin(), ring.order.end()).size(), comm->ranks) << entry.path();
        const nccl::NcclTree tree = nccl::nccl_tree(*comm, c);
        EXPECT_EQ(std::count(tree.up.begin(), tree.up.end(), nccl::kNoRank), 1) << entry.path();
      }
    }
  EXPECT_GE(machines, 60);
}

}  // namespace
}  // namespace busbar
