#include "busbar/spec/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "busbar/spec/cluster.h"

namespace busbar {
namespace {

using Kind = YamlNode::Kind;

/// A number, with whatever unit.
bool is_figure(const std::string& text) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  if (end == std::string::npos) return text.find('.') != std::string::npos;
  // "3.35TB/s", "400Gb/s", "989TFLOP/s", "700W", "250ns", "512KiB": a unit and no further words
  const std::string unit = text.substr(text.find_first_not_of(' ', end));
  return unit.find(' ') == std::string::npos && unit.find('-') == std::string::npos;
}

/// Every figure without `source` in its map or one around it, as "file:line:column: path: ".
void find_rumours(const YamlNode& node, bool sourced, std::vector<std::string>& out) {
  if (node.kind() == Kind::kScalar) {
    if (is_figure(node.scalar()) && !sourced) out.push_back(node.where().prefix() + node.scalar());
    return;
  }
  if (const auto source = node.find("source")) sourced = sourced || source->scalar().size() > 8;
  for (std::size_t i = 0; i < node.size(); ++i) {
    // What names something is no figure: "nvlink4", "pcie5 x16"; nor is the layout of a server.
    const bool name = node.kind() == Kind::kMap && (node.key(i) == "name" || node.key(i) == "part");
    if (!name) find_rumours(node.item(i), sourced, out);
  }
}

TEST(Catalog, EveryFigureHasASource) {
  std::size_t files = 0;
  for (const EmbeddedFile& file : embedded_catalog()) {
    const auto document = YamlDocument::parse(std::string(file.text), "catalog/" + std::string(file.name) + ".yaml");
    ASSERT_TRUE(document.ok()) << document.error().text();
    std::vector<std::string> rumours;
    find_rumours(document->root(), false, rumours);
    EXPECT_THAT(rumours, testing::IsEmpty());
    ++files;
  }
  EXPECT_GE(files, 11u);
}

TEST(Catalog, AFigureWithoutSourceWouldBeFound) {
  std::vector<std::string> rumours;
  find_rumours(YamlDocument::parse("a: {rate: 50GB/s}\nb: {rate: 400Gb/s, source: a data sheet}\n", "f").value().root(),
               false, rumours);
  EXPECT_THAT(rumours, testing::ElementsAre("f:1:11: a.rate: 50GB/s"));
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

TEST(Catalog, ServersMakeRows) {
  for (const char* name : {"dgx-h100:40", "dgx-a100:40", "mi300x-8:40", "rtx4090-pcie:40", "aws-p5:40", "dgx-b300:20"}) {
    const auto cluster = load_cluster(name);
    EXPECT_TRUE(cluster.ok()) << name << ": " << cluster.error().text();
  }
}

/// As the measured tables name them (data/measured, column `node`); `unknown` is no machine.
TEST(Catalog, EveryMeasuredBoardIsAPreset) {
  const Catalog catalog;
  for (const char* name :
       {"dgx-1v", "v100-sxm-1", "v100-pcie", "dgx-a100", "hgx-a100-4", "a100-pcie", "a100-pcie-nvbridge", "a800-8",
        "dgx-h100", "hgx-h100-4", "hgx-h100-96-500w", "h100-pcie-nvbridge", "h100-nvl", "dgx-h200", "hgx-h200-4",
        "h200-nvl", "h20-8", "h800-8", "gh200-4", "dgx-b200", "dgx-b300", "dgx-station-gb300", "gb200-nvl72",
        "gb300-nvl72", "mi250x-4", "mi250x-8", "mi300x-8", "mi325x-8", "mi350x-8", "mi355x-8", "mi100-8", "mi25-pcie",
        "gaudi3-8", "rtx2080ti-pcie", "rtx2080ti-nvbridge", "rtx4070tis-pcie", "rtx4090-pcie", "rtx5090-pcie",
        "rtxpro6000-pcie", "t4", "a30-pcie", "a40", "l40s", "dgx-spark", "strix-halo", "tpu-v4", "tpu-v5e", "tpu-v5p",
        "tpu-v6e", "tpu7x", "cpu-only"}) {
    EXPECT_TRUE(catalog.has("nodes", name)) << name;
  }
}

/// What a GPU can send to its peers over scale-up links, GB/s.
double scale_up_GBps(const Topology& t, DeviceId gpu) {
  double sum = 0;
  for (const LinkId l : t.out_links(gpu)) {
    const LinkClass& c = t.link_class(l);
    const bool peer = t.kind(t.to(l)) == DeviceKind::kGpu || t.kind(t.to(l)) == DeviceKind::kNvSwitch;
    if (is_scale_up(c.kind) && peer) sum += static_cast<double>(per_second(c.wire_rate)) / 1e9;
  }
  return sum;
}

TEST(Catalog, ScaleUpRatesAreThoseOfTheDataSheets) {
  const struct {
    const char* name;
    std::size_t gpus;
    double GBps;
  } cases[] = {{"dgx-1p", 8, 80},       {"dgx-1v", 8, 150},       {"dgx-2", 16, 150},       {"dgx-a100", 8, 300},
               {"a800-8", 8, 200},      {"hgx-a100-4", 4, 300},   {"a100-pcie-nvbridge", 4, 300},
               {"dgx-h100", 8, 450},    {"h800-8", 8, 200},       {"hgx-h100-4", 4, 450},   {"h200-nvl", 8, 450},
               {"gh200-4", 4, 450},     {"dgx-b200", 8, 900},     {"gb200-nvl72", 72, 900}, {"vr-nvl72", 72, 1800},
               {"dgx-h100-nvl256", 256, 450}, {"nvl576", 576, 900}, {"mi300x-8", 8, 448},   {"mi355x-8", 8, 535.5},
               {"mi100-8", 8, 138},     {"gaudi2-8", 8, 262.5},   {"gaudi3-8", 8, 525},     {"tpu-v4", 64, 300},
               {"tpu-v5e", 256, 200},   {"tpu-v5p", 64, 600},     {"tpu-v6e", 256, 400},    {"trn2", 16, 512},
               {"trn2-ultra", 64, 640}, {"rtx3090-nvbridge", 4, 56.24}, {"rtx2080ti-nvbridge", 2, 50},
               {"rtx4090-pcie", 4, 0}};
  for (const auto& c : cases) {
    const auto cluster = load_cluster(c.name);
    ASSERT_TRUE(cluster.ok()) << cluster.error().text();
    const Topology& t = cluster->topology;
    EXPECT_EQ(t.gpus().size(), c.gpus) << c.name;
    for (const DeviceId g : t.gpus()) EXPECT_NEAR(scale_up_GBps(t, g), c.GBps, 1e-6) << c.name << ' ' << t.name(g);
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
  EXPECT_THAT(catalog.load("gpus", "zzz").error().message, testing::HasSubstr("there are: a100-pcie-40"));
  for (const char* name : {"", "..", "../nodes/dgx-h100", "/etc/passwd", ".hidden", "a/b"}) {
    EXPECT_EQ(catalog.load("gpus", name).error().code, ErrorCode::kNotFound) << name;
    EXPECT_FALSE(catalog.has("gpus", name)) << name;
  }
}

TEST(Catalog, ADirectoryWinsOverTheEmbeddedFilesOneByOne) {
  const auto directory = std::filesystem::temp_directory_path() / "busbar_catalog_test";
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
}  // namespace busbar
