#include "busbar/formats/tar_archive.h"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

#include "busbar/formats/gzip_stream.h"

namespace busbar {
namespace {

std::string all_of_stream(std::istream& in) { return {std::istreambuf_iterator<char>(in), {}}; }

std::string archive_of_three() {
  std::string out;
  append_tar(out, "a.txt", "hello\n");
  append_tar(out, "empty", "");
  append_tar(out, "b", std::string(1300, 'x'));
  finish_tar(out);
  return out;
}

TEST(TarArchive, ReturnsTheFilesThatWereAdded) {
  const std::string bytes = archive_of_three();
  EXPECT_EQ(bytes.size() % 512, 0u);
  EXPECT_TRUE(looks_like_tar(bytes));
  std::istringstream in(bytes);
  TarReader tar(in, "t.tar");
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"a.txt", "hello\n"}, {"empty", ""}, {"b", std::string(1300, 'x')}}) {
    ASSERT_TRUE(tar.next().value());
    EXPECT_EQ(tar.name(), name);
    EXPECT_EQ(tar.size(), text.size());
    EXPECT_EQ(all_of_stream(*tar.content()), text);
  }
  EXPECT_FALSE(tar.next().value());
}

TEST(TarArchive, PassesOverFilesThatNobodyReads) {
  std::istringstream in(archive_of_three());
  TarReader tar(in, "t.tar");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(tar.next().value());
  EXPECT_EQ(all_of_stream(*tar.content()).size(), 1300u);
}

TEST(TarArchive, SaysWhereItIsCutOrBroken) {
  const std::string whole = archive_of_three();
  for (std::size_t size = 1; size + 1024 < whole.size(); ++size) {
    std::istringstream in(whole.substr(0, size));
    TarReader tar(in, "t.tar");
    Result<bool> more = tar.next();
    while (more.ok() && *more) more = tar.next();
    // Between files a cut cannot be seen: blocks of zeros at the end are a custom, not a rule.
    const bool between = size == 1024 || size == 1536;
    EXPECT_EQ(more.ok(), between) << size;
  }
  std::string broken = whole;
  broken[3] ^= 1;
  EXPECT_FALSE(looks_like_tar(broken)) << "the sum differs";
}

TEST(TarArchive, TakesLongNamesOfGnuAndPax) {
  const std::string long_name(150, 'n');
  std::string gnu, pax;
  append_tar(gnu, "././@LongLink", long_name + '\0');
  append_tar(pax, "PaxHeader", "160 path=" + long_name + "\n");
  const auto with_type = [](std::string head, char type) {
    unsigned sum = 0;
    head[156] = type;
    for (std::size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(head[i]);
    char digits[8];
    std::snprintf(digits, sizeof digits, "%06o", sum);
    head.replace(148, 6, digits, 6);
    return head;
  };
  for (std::string bytes : {with_type(gnu, 'L'), with_type(pax, 'x')}) {
    append_tar(bytes, "short", "text");
    finish_tar(bytes);
    std::istringstream in(bytes);
    TarReader tar(in, "t.tar");
    ASSERT_TRUE(tar.next().value());
    EXPECT_EQ(tar.name(), long_name);
    EXPECT_EQ(all_of_stream(*tar.content()), "text");
  }
}

TEST(TarArchive, PacksSoThatUnpackingGivesTheSame) {
  for (const std::size_t size : {0u, 1u, 65536u, 300000u}) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(i * i % 251);
    const auto failure = std::make_shared<UnpackFailure>();
    const auto in = unpack_gzip(std::make_unique<std::istringstream>(pack_gzip(text)), failure);
    EXPECT_EQ(all_of_stream(*in), text) << size;
    EXPECT_EQ(failure->message, "");
  }
}

}  // namespace
}  // namespace busbar
