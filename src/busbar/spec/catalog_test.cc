#include "busbar/spec/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "busbar/spec/catalog_entry.h"
#include "busbar/spec/cluster.h"

namespace busbar::spec {
namespace {

using Kind = YamlNode::Kind;

/// Every figure without a source, own or around it, as "file:line:column: path: text".
std::vector<std::string> unsourced_in(const YamlNode& root) {
  std::vector<std::string> out;
  for (const Figure& f : figures_of(root)) {
    if (f.source.size() < 9 && f.source != "assumption") out.push_back(f.where.prefix() + f.text);
  }
  return out;
}

TEST(Catalog, EveryFigureHasASource) {
  std::size_t files = 0;
  for (const EmbeddedFile& file : embedded_catalog()) {
    const auto document = YamlDocument::parse(std::string(file.text), "catalog/" + std::string(file.name) + ".yaml");
    ASSERT_TRUE(document.ok()) << document.error().text();
    EXPECT_THAT(unsourced_in(document->root()), testing::IsEmpty());
    ++files;
  }
  EXPECT_GE(files, 11u);
}

TEST(Catalog, AFigureWithoutSourceWouldBeFound) {
  const std::string text = "a: {rate: 50GB/s}\nb: {rate: 400Gb/s, source: a data sheet}\nc: {lanes: 4}\n";
  EXPECT_THAT(unsourced_in(YamlDocument::parse(text, "f").value().root()),
              testing::ElementsAre("f:1:11: a.rate: 50GB/s", "f:3:12: c.lanes: 4"));
}

TEST(Catalog, AnEntryShowsEachFigureWithUnitSourceAndConfidence) {
  const auto entry = catalog_entry("links", "nvlink4", Catalog()).value();
  ASSERT_EQ(entry.figures.size(), 3u);
  EXPECT_EQ(entry.figures[0].path, "rate");
  EXPECT_EQ(entry.figures[0].value, 25);
  EXPECT_EQ(entry.figures[0].unit, "GB/s");
  EXPECT_THAT(entry.figures[0].source, testing::HasSubstr("H100 data sheet"));
  EXPECT_EQ(entry.figures[1].path, "efficiency");
  EXPECT_EQ(entry.figures[1].unit, "share");
  EXPECT_THAT(entry.figures[1].source, testing::HasSubstr("376 of 450 GB/s"));
  EXPECT_EQ(entry.figures[1].confidence, "medium");
}

TEST(Catalog, ANodeNamesItsParts) {
  const auto entry = catalog_entry("nodes", "dgx-h200", Catalog()).value();
  EXPECT_THAT(entry.made_of, testing::IsSupersetOf({"gpus/h200-sxm", "links/nvlink4", "fabrics/ndr-rail"}));
  EXPECT_THAT(entry.made_of, testing::Not(testing::Contains("gpus/h100-sxm")));
}

TEST(Catalog, ANodeListsItsParametersWithTheirValuesAndWhatTheyDo) {
  const auto entry = catalog_entry("nodes", "a100-pcie", Catalog()).value();
  const auto gpu = std::find_if(entry.parameters.begin(), entry.parameters.end(),
                                [](const Parameter& p) { return p.name == "gpu"; });
  ASSERT_NE(gpu, entry.parameters.end());
  EXPECT_EQ(gpu->value, "a100-pcie-80") << "its own, not that of its base";
  for (const std::string& node : Catalog().names("nodes"))
    for (const Parameter& p : catalog_entry("nodes", node, Catalog()).value().parameters)
      EXPECT_FALSE(p.help.empty()) << node << " has a parameter " << p.name << " without a line in catalog/parameters";
}

TEST(Catalog, AliasesAreUniqueAndTheirNodesLoad) {
  const Catalog catalog;
  std::set<std::string> met;
  for (const std::string& name : catalog.names("nodes")) met.insert(name);
  for (const CatalogAlias& a : catalog.aliases("nodes")) {
    EXPECT_TRUE(met.insert(a.alias).second) << a.alias << " has two meanings";
    EXPECT_EQ(catalog.entry_of("nodes", a.alias), a.entry);
    EXPECT_TRUE(catalog.load("nodes", a.entry)->root().find("aliases")->find("source")) << a.entry;
  }
  for (const char* said : {"hgx-h100", "p5", "P5.48xlarge", "nd96isr_H100_v5", "a3-mega", "BM.GPU.H100.8"})
    EXPECT_TRUE(catalog.has("nodes", catalog.entry_of("nodes", said))) << said;
  EXPECT_EQ(load_cluster("p5:2")->name, "aws-p5:2");
  EXPECT_EQ(load_cluster("p5:2")->topology.gpus().size(), 16u);
}

TEST(Catalog, EveryEntryCanBeShown) {
  const std::set<std::string> words{"comparisons", "evidence", "parameters",
                                    "rules"};  // most of their entries have no figures
  const Catalog catalog;
  for (const std::string& folder : catalog.folders()) {
    for (const std::string& name : catalog.names(folder)) {
      const auto entry = catalog_entry(folder, name, catalog);
      ASSERT_TRUE(entry.ok()) << entry.error().text();
      if (!words.contains(folder)) EXPECT_FALSE(entry->figures.empty()) << folder << '/' << name;
      for (const Figure& f : entry->figures) EXPECT_FALSE(f.unit.empty()) << folder << '/' << name << ' ' << f.path;
    }
  }
}

TEST(Catalog, ConfidenceIsOneOfThreeWords) {
  const std::function<void(const YamlNode&)> check = [&](const YamlNode& node) {
    if (const auto c = node.find("confidence")) {
      EXPECT_THAT(c->scalar(), testing::AnyOf("low", "medium", "high")) << c->where().prefix();
    }
    for (std::size_t i = 0; i < node.size(); ++i) check(node.item(i));
  };
  for (const EmbeddedFile& file : embedded_catalog())
    check(YamlDocument::parse(std::string(file.text), "f").value().root());
}

TEST(Catalog, EveryNodeLoadsAloneAndTwoOfItOnItsFabric) {
  for (const std::string& node : Catalog().names("nodes")) {
    const auto one = load_cluster(node);
    EXPECT_TRUE(one.ok()) << node << ": " << one.error().text();
    if (!one.ok()) continue;
    EXPECT_EQ(one->topology.blocks().size(), 1u) << node;
    const auto two = load_cluster(node + ":2");
    EXPECT_TRUE(two.ok()) << node << ":2: " << two.error().text();
    if (two.ok()) EXPECT_EQ(two->topology.gpus().size(), 2 * one->topology.gpus().size()) << node;
  }
}

TEST(Catalog, EveryGpuHasTheProtocolOfItsGeneration) {
  const Catalog catalog;
  for (const std::string& name : catalog.names("gpus")) {
    if (name == "host-memory") continue;
    const auto part = catalog.load("gpus", name);
    const auto protocol = part->root().find("protocol");
    ASSERT_TRUE(protocol) << name;
    EXPECT_TRUE(catalog.has("protocols", protocol->scalar())) << name;
  }
}

TEST(Catalog, BoardsCountTheProtocolOfTheirGpus) {
  const Catalog catalog;
  for (const std::string& name : catalog.names("nodes")) {
    const auto board = load_cluster(name);
    ASSERT_TRUE(board.ok()) << name;
    if (board->gpu_part.empty() || board->gpu_part == "host-memory") continue;
    const std::string text = "node:\n  devices: [{name: gpu, part: " + board->gpu_part + "}]\n";
    const auto plain = parse_cluster(text, "t");
    ASSERT_TRUE(plain.ok()) << plain.error().text();
    EXPECT_FALSE(plain->ideal);
    EXPECT_EQ(plain->protocol.step_scale_up, board->protocol.step_scale_up) << name;
    EXPECT_EQ(plain->protocol.step_server, board->protocol.step_server) << name;
  }
}

TEST(Catalog, MachinesOfUnknownGpusAreIdealUntilTheyAreNamed) {
  const std::string text =
      "node:\n  devices: [{name: gpu, count: 2}]\n"
      "  links: [{between: [gpu0, gpu1], kind: nvlink, rate: 25GB/s}]\n";
  EXPECT_TRUE(parse_cluster(text, "t")->ideal);
  Overrides named;
  named.gpu = "h100-sxm";
  const auto cluster = parse_cluster(text, "t", named);
  ASSERT_TRUE(cluster.ok()) << cluster.error().text();
  EXPECT_FALSE(cluster->ideal);
  EXPECT_EQ(cluster->gpu_part, "h100-sxm");
  EXPECT_GT(cluster->protocol.launch, Duration());
}

TEST(Catalog, PartsHaveThePropertiesThatNcclReads) {
  const auto of = [](const char* cluster, const char* device) {
    const topology::Topology t = load_cluster(cluster)->topology;
    return t.device_class(*t.find(std::string("node0.") + device));
  };
  EXPECT_EQ(of("dgx-h100", "gpu0").compute_capability, 90);
  EXPECT_EQ(of("dgx-a100", "gpu0").compute_capability, 80);
  EXPECT_EQ(of("mi300x-8", "gpu0").compute_capability, 0);
  EXPECT_EQ(of("mi300x-8", "gpu0").architecture, "gfx942");
  EXPECT_EQ(of("dgx-h100", "cpu1").processor, (topology::ProcessorIdentity{"x86_64", "GenuineIntel", 6, 143}));
  EXPECT_EQ(of("dgx-a100", "cpu0").processor, (topology::ProcessorIdentity{"x86_64", "AuthenticAMD", 23, 49}));
  EXPECT_EQ(of("gh200-1", "cpu0").processor.arch, "arm64");
}

TEST(Catalog, ServersMakeRows) {
  for (const char* name :
       {"dgx-h100:40", "dgx-a100:40", "mi300x-8:40", "rtx4090-pcie:40", "aws-p5:40", "dgx-b300:20"}) {
    const auto cluster = load_cluster(name);
    EXPECT_TRUE(cluster.ok()) << name << ": " << cluster.error().text();
  }
}

/// As named in the measured tables (data/measured, column `node`); `unknown` is no machine.
TEST(Catalog, EveryMeasuredBoardIsAPreset) {
  const Catalog catalog;
  for (const char* name : {"dgx-1v",
                           "v100-sxm-1",
                           "v100-pcie",
                           "dgx-a100",
                           "hgx-a100-4",
                           "a100-pcie",
                           "a100-pcie-nvbridge",
                           "a800-8",
                           "dgx-h100",
                           "hgx-h100-4",
                           "hgx-h100-96-500w",
                           "h100-pcie-nvbridge",
                           "h100-nvl",
                           "dgx-h200",
                           "hgx-h200-4",
                           "h200-nvl",
                           "h20-8",
                           "h800-8",
                           "gh200-4",
                           "dgx-b200",
                           "dgx-b300",
                           "dgx-station-gb300",
                           "gb200-nvl72",
                           "gb300-nvl72",
                           "mi250x-4",
                           "mi250x-8",
                           "mi300x-8",
                           "mi325x-8",
                           "mi350x-8",
                           "mi355x-8",
                           "mi100-8",
                           "mi25-pcie",
                           "gaudi3-8",
                           "rtx2080ti-pcie",
                           "rtx2080ti-nvbridge",
                           "rtx4070tis-pcie",
                           "rtx4090-pcie",
                           "rtx5090-pcie",
                           "rtxpro6000-pcie",
                           "t4",
                           "a30-pcie",
                           "a40",
                           "l40s",
                           "dgx-spark",
                           "strix-halo",
                           "tpu-v4",
                           "tpu-v5e",
                           "tpu-v5p",
                           "tpu-v6e",
                           "tpu7x",
                           "cpu-only"}) {
    EXPECT_TRUE(catalog.has("nodes", name)) << name;
  }
}

/// The rate at which a GPU can send to its peers over scale-up links, GB/s.
double scale_up_GBps(const topology::Topology& t, topology::DeviceId gpu) {
  double sum = 0;
  for (const topology::LinkId l : t.out_links(gpu)) {
    const topology::LinkClass& c = t.link_class(l);
    const bool peer =
        t.kind(t.to(l)) == topology::DeviceKind::kGpu || t.kind(t.to(l)) == topology::DeviceKind::kNvSwitch;
    if (topology::is_scale_up(c.kind) && peer) sum += static_cast<double>(per_second(c.wire_rate)) / 1e9;
  }
  return sum;
}

TEST(Catalog, ScaleUpRatesEqualTheDataSheets) {
  const struct {
    const char* name;
    std::size_t gpus;
    double GBps;
  } cases[] = {{"dgx-1p", 8, 80},
               {"dgx-1v", 8, 150},
               {"dgx-2", 16, 150},
               {"dgx-a100", 8, 300},
               {"a800-8", 8, 200},
               {"hgx-a100-4", 4, 300},
               {"a100-pcie-nvbridge", 4, 300},
               {"dgx-h100", 8, 450},
               {"h800-8", 8, 200},
               {"hgx-h100-4", 4, 450},
               {"h200-nvl", 8, 450},
               {"gh200-4", 4, 450},
               {"dgx-b200", 8, 900},
               {"gb200-nvl72", 72, 900},
               {"vr-nvl72", 72, 1800},
               {"dgx-h100-nvl256", 256, 450},
               {"nvl576", 576, 900},
               {"mi300x-8", 8, 448},
               {"mi355x-8", 8, 535.5},
               {"mi100-8", 8, 138},
               {"gaudi2-8", 8, 262.5},
               {"gaudi3-8", 8, 525},
               {"tpu-v4", 64, 300},
               {"tpu-v5e", 256, 200},
               {"tpu-v5p", 64, 600},
               {"tpu-v6e", 256, 400},
               {"trn2", 16, 512},
               {"trn2-ultra", 64, 640},
               {"rtx3090-nvbridge", 4, 56.24},
               {"rtx2080ti-nvbridge", 2, 50},
               {"rtx4090-pcie", 4, 0}};
  for (const auto& c : cases) {
    const auto cluster = load_cluster(c.name);
    ASSERT_TRUE(cluster.ok()) << cluster.error().text();
    const topology::Topology& t = cluster->topology;
    EXPECT_EQ(t.gpus().size(), c.gpus) << c.name;
    for (const topology::DeviceId g : t.gpus())
      EXPECT_NEAR(scale_up_GBps(t, g), c.GBps, 1e-6) << c.name << ' ' << t.name(g);
  }
}

// GeForce drivers offer neither; small inference cards and single-chip machines lack GPUDirect; TCP copies.
TEST(Catalog, EveryBoardStatesGpudirectAndPeerAccess) {
  const auto starts = [](const std::string& part, std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(), [&](const char* w) { return part.starts_with(w); });
  };
  for (const std::string& node : Catalog().names("nodes")) {
    const auto one = load_cluster(node);
    ASSERT_TRUE(one.ok()) << one.error().text();
    const std::string& part = one->gpu_part;
    const bool geforce = starts(part, {"rtx2", "rtx3", "rtx4", "rtx5"}), small = starts(part, {"t4", "l4.", "gb10"});
    EXPECT_EQ(one->p2p, !geforce && node != "aws-g5") << node;
    if (geforce || small) EXPECT_FALSE(one->gpudirect) << node;
    if (starts(part, {"a100", "h100", "h200", "b200", "gb200", "mi300"})) EXPECT_TRUE(one->gpudirect) << node;
  }
  Overrides tcp;
  tcp.set = {"fabric=tcp-100g-leaf-spine"};
  EXPECT_FALSE(load_cluster("dgx-h100:2", tcp)->gpudirect);
}

TEST(Catalog, HostMemoryIsACapacityOfEveryBoard) {
  for (const std::string& node : Catalog().names("nodes")) {
    const auto one = load_cluster(node);
    ASSERT_TRUE(one.ok()) << one.error().text();
    const topology::Topology& t = one->topology;
    for (std::uint32_t d = 0; d < t.device_count(); ++d) {
      const auto cpu = static_cast<topology::DeviceId>(d);
      if (t.kind(cpu) != topology::DeviceKind::kCpu) continue;
      const auto links = t.out_links(cpu);
      EXPECT_TRUE(std::any_of(links.begin(), links.end(),
                              [&](topology::LinkId l) { return t.link_class(l).kind == topology::LinkKind::kHost; }))
          << node << ' ' << t.name(cpu);
    }
  }
}

TEST(Catalog, EveryFabricBuildsUnderTheNodes) {
  for (const std::string& fabric : Catalog().names("fabrics")) {
    Overrides overrides;
    overrides.set = {"fabric=" + fabric};
    const auto cluster = load_cluster("dgx-h100:10", overrides);
    ASSERT_TRUE(cluster.ok()) << cluster.error().text();
    EXPECT_EQ(cluster->topology.gpus().size(), 80u);
  }
}

TEST(Catalog, UnknownNamesAreAnsweredWithTheNearest) {
  const Catalog catalog;
  EXPECT_THAT(catalog.load("gpus", "h100-sxn").error().message, testing::HasSubstr("did you mean 'h100-sxm'?"));
  EXPECT_THAT(catalog.load("failures", "zzz").error().message, testing::HasSubstr("there are: llama3, rsc-1"));
  EXPECT_THAT(catalog.load("nodes", "zzz").error().message, testing::HasSubstr("'busbar catalog nodes' lists them"));
  for (const char* name : {"", "..", "../nodes/dgx-h100", "/etc/passwd", ".hidden", "a/b"}) {
    EXPECT_EQ(catalog.load("gpus", name).error().code, ErrorCode::kNotFound) << name;
    EXPECT_FALSE(catalog.has("gpus", name)) << name;
  }
}

TEST(Catalog, ADirectoryWinsOverTheEmbeddedFilesOneByOne) {
  const auto directory = std::filesystem::temp_directory_path() / ("busbar_catalog_test." + std::to_string(::getpid()));
  std::filesystem::create_directories(directory / "gpus");
  std::ofstream(directory / "gpus" / "h100-sxm.yaml")
      << "name: h100-sxm\nmemory: 96GB\nmemory_rate: 4TB/s\nsource: test\n";
  Overrides overrides;
  overrides.catalog = directory.string();
  const auto cluster = load_cluster("dgx-h100", overrides);
  std::filesystem::remove_all(directory);
  ASSERT_TRUE(cluster.ok()) << cluster.error().text();
  EXPECT_EQ(count(cluster->topology.device_class(cluster->topology.gpus()[0]).memory), 96'000'000'000u);
}

}  // namespace
}  // namespace busbar::spec
