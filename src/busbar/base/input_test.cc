#include "busbar/base/input.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "busbar/base/embedded.h"
#include "busbar/base/run_files.h"

namespace busbar {
namespace {

namespace fs = std::filesystem;

class InputTest : public testing::Test {
 protected:
  InputTest() : folder_((fs::temp_directory_path() / "busbar-input-XXXXXX").string()) {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~InputTest() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string folder_;
  RunFiles run_;
};

std::string refusal(const std::string& name, std::uint64_t most = kMostInput) {
  const auto text = read_text(name, most);
  return text.ok() ? "" : text.error().text();
}

TEST_F(InputTest, AFileIsReadWithoutItsByteOrderMark) {
  EXPECT_EQ(*read_text(file("a", "\xef\xbb\xbfone\n")), "one\n");
  EXPECT_EQ(*read_text(file("b", "")), "");
}

TEST_F(InputTest, AnUnreadableFileIsReportedWithTheSystemsReason) {
  EXPECT_EQ(refusal(path("none")), path("none") + ": cannot be read: there is no such file");
  EXPECT_EQ(refusal(folder_), folder_ + ": is a folder; name a file");
  fs::create_symlink(path("b"), path("a"));
  fs::create_symlink(path("a"), path("b"));
  EXPECT_EQ(refusal(path("a")), path("a") + ": cannot be read: Too many levels of symbolic links");
}

TEST_F(InputTest, MoreBytesThanAskedForAreRefusedAndAsManyAreRead) {
  const std::string name = file("a", "12345678");
  EXPECT_EQ(*read_text(name, 8), "12345678");
  EXPECT_EQ(refusal(name, 7), name + ": is larger than 7 B; is this the right file?");
}

TEST_F(InputTest, ADeviceWithoutEndIsRefusedAtItsFirstBytes) {
  EXPECT_EQ(refusal("/dev/zero", 1000), "/dev/zero:1:1: control character 0x00; is this a text file?");
}

TEST_F(InputTest, APipeGivesTheSameBytesToEveryoneWhoOpensIt) {
  const std::string name = path("pipe"), text(300'000, 'x');
  ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(name) << text; });
  const Input first = Input::open(name).value();
  std::string head(10, ' ');
  first.stream()->read(head.data(), 10);
  EXPECT_EQ(head, text.substr(0, 10));
  EXPECT_EQ(*first.whole(), text);
  EXPECT_EQ(*Input::open(name)->whole(), text);  // opening it again would wait for another writer
  writer.join();
}

TEST_F(InputTest, APipeAboveTheBoundIsRefused) {
  const std::string name = path("pipe");
  ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(name) << std::string(5000, 'x'); });
  EXPECT_NE(refusal(name, 4999).find("is larger than"), std::string::npos);
  writer.join();
}

TEST_F(InputTest, ANameIsAnInputIfItCanBeReadOrRefused) {
  EXPECT_TRUE(names_input(file("a", "")));
  EXPECT_TRUE(names_input(folder_));  // so that the error can say that it is a folder
  EXPECT_FALSE(names_input("src"));   // a folder with this name hides no preset
  EXPECT_FALSE(names_input("dgx-h100"));
}

TEST_F(InputTest, TheDigestDependsOnContentsAndNotOnNames) {
  const std::uint64_t none = run_.inputs_digest();
  ASSERT_TRUE(read_text(file("a", "one")).ok());
  const std::uint64_t one = run_.inputs_digest();
  EXPECT_NE(one, none);
  ASSERT_TRUE(read_text(path("a")).ok());
  EXPECT_EQ(run_.inputs_digest(), one);  // the same file again
  file("a", "two");
  EXPECT_NE(run_.inputs_digest(), one);
  fs::rename(path("a"), path("moved"));
  file("a", "one");
  EXPECT_EQ(run_.inputs_digest(), one);
}

TEST_F(InputTest, AnEmbeddedInputIsReadWhereThereIsNoSuchFile) {
  const std::string name = "examples/sweep.yaml", here = fs::current_path();
  ASSERT_TRUE(read_text(name).ok());  // tests start where the sources are
  EXPECT_TRUE(run_.embedded().empty());
  const std::uint64_t of_file = run_.inputs_digest();
  const std::string text = *read_text(name);
  fs::current_path(folder_);
  EXPECT_TRUE(names_input(name));
  EXPECT_EQ(*read_text(name), text);
  EXPECT_EQ(*read_text(name), text);
  fs::current_path(here);
  ASSERT_EQ(run_.embedded().size(), 1u);
  EXPECT_EQ(run_.embedded()[0]->name, name);
  EXPECT_NE(run_.inputs_digest(), of_file);  // two inputs now
  EXPECT_FALSE(names_input("examples/none.yaml"));
}

TEST_F(InputTest, ResultsFromAnEmbeddedInputHaveTheDigestOfTheFile) {
  const EmbeddedFile& embedded = *find_embedded_input("examples/sweep.yaml");
  run_.add_embedded(embedded);
  const std::uint64_t digest = run_.inputs_digest();
  const std::string copy = file("copy", std::string(embedded.text));
  std::uint64_t of_copy = 0;
  std::thread([&] {
    const RunFiles other;
    EXPECT_TRUE(read_text(copy).ok());
    of_copy = other.inputs_digest();
  }).join();
  EXPECT_EQ(of_copy, digest);
}

TEST(Embedded, EveryInputHasTheBytesOfItsFile) {
  EXPECT_GT(embedded_inputs().size(), 10u);
  for (const EmbeddedFile& f : embedded_inputs()) {
    std::ifstream in(std::string(f.name), std::ios::binary);
    EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(in), {}) == f.text) << f.name;  // too long to be shown
  }
}

}  // namespace
}  // namespace busbar
