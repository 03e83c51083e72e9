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

TEST(Catalog, EveryNodeLoadsAloneAndAsACluster) {
  for (const std::string& node : Catalog().names("nodes")) {
    for (const char* count : {"", ":1", ":2", ":40"}) {
      const auto cluster = load_cluster(node + count);
      EXPECT_TRUE(cluster.ok()) << cluster.error().text();
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
  EXPECT_THAT(catalog.load("gpus", "zzz").error().message, testing::HasSubstr("there are: a100-sxm-40"));
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
