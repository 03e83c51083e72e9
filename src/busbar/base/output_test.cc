#include "busbar/base/output.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "busbar/base/input.h"
#include "busbar/base/run_files.h"

namespace busbar {
namespace {

namespace fs = std::filesystem;

class OutputTest : public testing::Test {
 protected:
  OutputTest() : folder_((fs::temp_directory_path() / "busbar-output-XXXXXX").string()) {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~OutputTest() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }
  std::string folder_;
  RunFiles run_;
};

std::string text_of(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
std::string refusal(const std::string& name, std::string_view bytes) {
  const Status s = write_file(name, bytes);
  return s.ok() ? "" : s.error().text();
}

/// Limits files of this process to `bytes`, to simulate a full disk.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(OutputTest, AFileIsMadeOrReplacedAndKeepsItsRights) {
  ASSERT_EQ(refusal(path("new"), "one"), "");
  EXPECT_EQ(text_of(path("new")), "one");
  const std::string old = file("old", "before");
  fs::permissions(old, fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
  ASSERT_EQ(refusal(old, "after"), "");
  EXPECT_EQ(text_of(old), "after");
  EXPECT_EQ(fs::status(old).permissions(), fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
  EXPECT_EQ(files(), 2);
}

TEST_F(OutputTest, AFullDiskLeavesTheFormerFileAndNothingElse) {
  const std::string old = file("old", "a good report");
  std::string said;
  {
    const SmallDisk disk(4096);
    said = refusal(old, std::string(10'000, 'x'));
  }
  EXPECT_EQ(said, old + ": cannot be written: File too large");
  EXPECT_EQ(text_of(old), "a good report");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputTest, TheSystemsReasonIsSaid) {
  EXPECT_EQ(refusal(path("no/folder"), "x"), path("no/folder") + ": cannot be written: No such file or directory");
  EXPECT_EQ(refusal(folder_, "x"), folder_ + ": is a folder; name a file");
  EXPECT_EQ(refusal("/dev/full", "x"), "/dev/full: cannot be written: No space left on device");
  file("a", "");
  EXPECT_EQ(refusal(path("a/b"), "x"), path("a/b") + ": cannot be written: Not a directory");
}

TEST_F(OutputTest, AnInputIsNeverReplacedUnderAnyOfItsNames) {
  const std::string in = file("in", "mine");
  ASSERT_TRUE(read_text(in).ok());
  fs::create_symlink(in, path("link"));
  fs::create_hard_link(in, path("other"));
  for (const char* name : {"in", "link", "other"})
    EXPECT_NE(refusal(path(name), "x").find("is an input and is not overwritten"), std::string::npos) << name;
  EXPECT_EQ(text_of(in), "mine");
}

TEST_F(OutputTest, TwoOutputsNeverGoToOneFile) {
  ASSERT_EQ(refusal(path("a"), "one"), "");
  EXPECT_NE(refusal(folder_ + "/./a", "two").find("holds another output"), std::string::npos);
  EXPECT_EQ(text_of(path("a")), "one");
}

TEST_F(OutputTest, ALinkStaysALinkToTheNewContents) {
  const std::string target = file("target", "before");
  fs::create_symlink("target", path("link"));
  ASSERT_EQ(refusal(path("link"), "after"), "");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(text_of(target), "after");
}

TEST_F(OutputTest, DevicesAreWrittenToAndStayDevices) {
  EXPECT_EQ(refusal("/dev/null", "x"), "");
  EXPECT_EQ(refusal("/dev/null", "x"), "");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace busbar
