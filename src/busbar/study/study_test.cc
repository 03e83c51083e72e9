#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <string>

#include "busbar/study/study_file.h"
#include "busbar/study/study_store.h"

namespace busbar::study {
namespace {

using testing::ElementsAre;
using testing::Pair;

Study study_of(const std::string& text) {
  auto s = Study::parse(text, "s.yaml");
  EXPECT_TRUE(s.ok()) << s.error().text();
  return std::move(*s);
}
std::string refusal_of(const std::string& text) {
  const auto s = Study::parse(text, "s.yaml");
  return s.ok() ? "" : s.error().text();
}

TEST(Study, TheLastKeyOfTheGridIsTheFastest) {
  const Study s = study_of("command: train 'my machine.yaml' llama3-8b\ngrid:\n  --tp: [1, 2]\n  a.b: [x, y, z]\n");
  ASSERT_EQ(s.cells(), 6u);
  EXPECT_THAT(s.settings(0), ElementsAre(Pair("--tp", "1"), Pair("a.b", "x")));
  EXPECT_THAT(s.settings(4), ElementsAre(Pair("--tp", "2"), Pair("a.b", "y")));
  EXPECT_THAT(s.words(4), ElementsAre("train", "my machine.yaml", "llama3-8b", "--tp", "2", "--set", "a.b=y"));
}

TEST(Study, GridListAndSamplesMultiply) {
  const Study s = study_of(
      "command: train m\ngrid: {--zero: [1, 2]}\nlist: [{--tp: 8, --pp: 1}, {--tp: 4, --pp: 2}, {--tp: 2}]\n"
      "random: {samples: 5, seed: 3, --seq: {from: 1024, to: 8192, multiple_of: 128}, r: {from: 1, to: 2, unit: "
      "GB/s}}\n");
  ASSERT_EQ(s.cells(), 30u);
  std::set<std::vector<std::string>> seen;
  for (std::uint64_t c = 0; c < s.cells(); ++c) {
    seen.insert(s.words(c));
    for (const auto& [key, value] : s.settings(c)) {
      if (key == "--seq") EXPECT_EQ(std::stoi(value) % 128, 0);
      if (key == "r") EXPECT_THAT(value, testing::EndsWith("GB/s"));
    }
  }
  EXPECT_EQ(seen.size(), 30u);
  EXPECT_EQ(s.settings(7), s.settings(7));
  EXPECT_EQ(s.settings(0).back(), s.settings(5).back());  // the same sample with another row
}

TEST(Study, StepsAndFactorsIncludeTheirEnd) {
  const Study s = study_of("command: c\ngrid: {a: {from: 1, to: 8, times: 2}, b: {from: 0.1, to: 0.3, step: 0.1}}\n");
  EXPECT_EQ(s.cells(), 4u * 3u);
  EXPECT_EQ(s.settings(11)[0].second, "8");
  EXPECT_EQ(s.settings(11)[1].second.substr(0, 3), "0.3");
}

TEST(Study, FlagsWithoutValue) {
  const Study s = study_of("command: survive m\ngrid: {--async: [true, false]}\n");
  EXPECT_THAT(s.words(0), ElementsAre("survive", "m", "--async"));
  EXPECT_THAT(s.words(1), ElementsAre("survive", "m"));
}

TEST(Study, RefusalsNamePlaceAndRemedy) {
  EXPECT_THAT(refusal_of("command: train m\ngird: {}\n"), testing::HasSubstr("s.yaml:2:1"));
  EXPECT_THAT(refusal_of("command: sweep x\n"), testing::HasSubstr("expected a command"));
  EXPECT_THAT(refusal_of("command: c\ngrid: {a: []}\n"), testing::HasSubstr("s.yaml:2"));
  EXPECT_THAT(refusal_of("command: c\ngrid: {a: {from: 4, to: 1, step: 1}}\n"), testing::HasSubstr("at least from"));
  EXPECT_THAT(refusal_of("command: c\ngrid: {a: {from: 1, to: 4}}\n"), testing::HasSubstr("step"));
  EXPECT_THAT(refusal_of("command: c\ngrid: {a: [1M, 2M, 1M]}\n"), testing::HasSubstr("grid.a: '1M' stands twice"));
  EXPECT_THAT(refusal_of("command: c\nrandom: {a: {from: 5, to: 6, multiple_of: 4}}\n"),
              testing::HasSubstr("multiple"));
}

class StudyStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  static std::vector<std::uint64_t> filled(const std::string& path, std::vector<std::uint64_t> cells) {
    const auto store = StudyStore::open(path, "study").value();
    for (const std::uint64_t c : cells) EXPECT_TRUE(store->put({c, "{}", 0, "", "{}"}).ok());
    return store->done().value();
  }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("busbar-study-" + std::to_string(::getpid()));
};

TEST_F(StudyStoreTest, RowsStayAndMergeWithoutDoubles) {
  EXPECT_THAT(filled(path("a.db"), {4, 1}), ElementsAre(1, 4));
  EXPECT_THAT(filled(path("b.db"), {2, 4}), ElementsAre(2, 4));
  const auto store = StudyStore::open(path("a.db"), "study").value();
  ASSERT_TRUE(store->merge(path("b.db")).ok());
  EXPECT_THAT(store->done().value(), ElementsAre(1, 2, 4));
}

TEST_F(StudyStoreTest, AnotherStudyAndOtherFilesAreRefused) {
  filled(path("a.db"), {1});
  EXPECT_THAT(StudyStore::open(path("a.db"), "another").error().text(), testing::HasSubstr("another study"));
  std::FILE* const text = std::fopen(path("t.db").c_str(), "w");
  std::fputs("this is a text of more than sixteen bytes\n", text);
  std::fclose(text);
  EXPECT_THAT(StudyStore::open(path("t.db"), "study").error().text(), testing::HasSubstr("no SQLite database"));
  const auto store = StudyStore::open(path("a.db"), "study").value();
  EXPECT_FALSE(store->merge(path("missing.db")).ok());
  EXPECT_FALSE(std::filesystem::exists(path("missing.db")));
}

TEST_F(StudyStoreTest, OneProcessAtATime) {
  const auto store = StudyStore::open(path("a.db"), "study").value();
  ASSERT_TRUE(store->put({1, "{}", 0, "", "{}"}).ok());
  EXPECT_THAT(StudyStore::open(path("a.db"), "study").error().text(), testing::HasSubstr("in use"));
}

}  // namespace
}  // namespace busbar::study
