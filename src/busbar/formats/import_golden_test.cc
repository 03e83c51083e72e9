// Every sample gives the reading that a person last approved. BUSBAR_UPDATE=1 rewrites the expectations.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/formats/fixture.h"
#include "busbar/formats/import.h"

namespace busbar::formats {
namespace {

namespace fs = std::filesystem;

/// Shortens long lists to their length, their ends and a hash of all.
Json condensed(const Json& value) {
  constexpr std::size_t kLong = 8;
  if (value.is_array() && value.size() > kLong)
    return {{"entries", value.size()},
            {"first", condensed(value.values().front())},
            {"last", condensed(value.values().back())},
            {"hash", fmt::format("{:016x}", hash64(value.dump()))}};
  if (!value.is_structured()) return value;
  Json out = value.is_array() ? Json::array() : Json::object();
  if (value.is_array())
    for (const Json& v : value.values()) out.push_back(condensed(v));
  else
    for (const auto& [key, v] : value.members()) out[key] = condensed(v);
  return out;
}

Json reading_of(const fs::path& path) {
  auto source = ImportSource::open(path.string());
  if (!source.ok()) return {{"error", source.error().text()}};
  const auto report = import_source(*source, {});
  if (!report.ok()) return {{"error", report.error().text()}};
  Json j{{"kind", report->kind},
         {"found", condensed(report->found)},
         {"notes", report->notes},
         {"unknown", Json::array()}};
  for (const UnknownPart& u : report->unknown)
    j["unknown"].push_back(fmt::format("{}: {} x{}", u.line, u.what, u.count));
  j["unknown"] = condensed(j["unknown"]);
  return j;
}

std::vector<fs::path> samples() {
  std::vector<fs::path> out;
  for (const char* folder :
       {"astra-sim", "chakra-et", "chakra-json", "goal", "hwloc-xml", "ibnetdiscover", "kineto", "msccl-xml",
        "mscclpp-plan", "nccl-graph", "nccl-log", "nccl-tests", "nccl-topo", "nvidia-smi-topo", "rccl-topo"})
    for (const auto& file : fs::directory_iterator(fs::path("tests/fixtures") / folder))
      if (file.is_regular_file()) out.push_back(file.path());
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Import, ReadsEverySampleAsBefore) {
  const bool update = std::getenv("BUSBAR_UPDATE") != nullptr;
  const auto files = samples();
  EXPECT_GT(files.size(), 100u);
  for (const fs::path& file : files) {
    const fs::path expected =
        fs::path("tests/fixtures/expected") / file.parent_path().filename() / (file.filename().string() + ".json");
    const std::string now = reading_of(file).dump(1) + "\n";
    if (update) {
      fs::create_directories(expected.parent_path());
      std::ofstream(expected, std::ios::binary) << now;
      continue;
    }
    std::ifstream in(expected, std::ios::binary);
    const std::string before{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(now, before) << file;
  }
}

TEST(Import, SamplesHaveTheKindOfTheirFolder) {
  const std::pair<const char*, const char*> kinds[] = {{"nccl-topo", "nccl-topology"},
                                                       {"rccl-topo", "nccl-topology"},
                                                       {"nccl-graph", "nccl-graph"},
                                                       {"msccl-xml", "msccl"},
                                                       {"goal", "goal"},
                                                       {"chakra-et", "chakra"},
                                                       {"chakra-json", "chakra-json"},
                                                       {"kineto", "kineto"},
                                                       {"mscclpp-plan", "mscclpp"},
                                                       {"nccl-log", "nccl-log"},
                                                       {"hwloc-xml", "hwloc"}};
  for (const fs::path& file : samples())
    for (const auto& [folder, kind] : kinds) {
      if (file.parent_path().filename() != folder) continue;
      auto source = ImportSource::open(file.string());
      ASSERT_TRUE(source.ok());
      const FormatEntry* format = find_format(source->head());
      ASSERT_NE(format, nullptr) << file;
      EXPECT_STREQ(format->kind, kind) << file;
    }
}

TEST(Import, AnUnknownKindIsRefusedWithTheKnownOnes) {
  ImportSource source = ImportSource::of_text("hello\n", "note.txt");
  const auto report = import_source(source, {});
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().text(), testing::HasSubstr("note.txt: not a kind of file that is known; known are nccl-"));
  const auto forced = import_source(source, {}, "nccl-logg");
  EXPECT_THAT(forced.error().text(), testing::HasSubstr("--kind: there is no kind 'nccl-logg'"));
}

TEST(Import, EveryReaderRefusesAnEmptyFileWithAMessage) {
  for (const FormatEntry& f : import_formats()) {
    ImportSource source = ImportSource::of_text("", "empty");
    const auto report = import_source(source, {}, f.kind);
    ASSERT_FALSE(report.ok()) << f.kind;
    EXPECT_THAT(report.error().text(), testing::HasSubstr("empty")) << f.kind;
  }
}

}  // namespace
}  // namespace busbar::formats
