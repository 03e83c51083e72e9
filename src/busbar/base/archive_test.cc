#include "busbar/base/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "busbar/base/input.h"

namespace busbar {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

la_ssize_t take_piece(archive*, void* out, const void* bytes, std::size_t size) {
  static_cast<std::string*>(out)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

struct TestEntry {
  std::string name, text;
  unsigned type = AE_IFREG;
};

/// An archive in a format ("raw", "ustar", "pax", "zip") behind a filter ("none", "gzip", ...).
std::string packed(const std::vector<TestEntry>& entries, const char* format, const char* filter) {
  std::string out;
  archive* const a = archive_write_new();
  EXPECT_EQ(archive_write_set_format_by_name(a, format), ARCHIVE_OK);
  const bool plain = std::string_view(filter) == "none";
  EXPECT_EQ(plain ? ARCHIVE_OK : archive_write_add_filter_by_name(a, filter), ARCHIVE_OK) << filter;
  archive_write_set_bytes_in_last_block(a, 1);
  EXPECT_EQ(archive_write_open(a, &out, nullptr, take_piece, nullptr), ARCHIVE_OK);
  for (const TestEntry& e : entries) {
    archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname(entry, e.name.c_str());
    archive_entry_set_filetype(entry, e.type);
    archive_entry_set_perm(entry, 0644);
    if (e.type == AE_IFLNK) archive_entry_set_symlink(entry, "/etc/passwd");
    archive_entry_set_size(entry, e.type == AE_IFREG ? static_cast<la_int64_t>(e.text.size()) : 0);
    EXPECT_EQ(archive_write_header(a, entry), ARCHIVE_OK) << archive_error_string(a);
    if (e.type == AE_IFREG) archive_write_data(a, e.text.data(), e.text.size());
    archive_entry_free(entry);
  }
  EXPECT_EQ(archive_write_close(a), ARCHIVE_OK);
  archive_write_free(a);
  return out;
}
std::string compressed(const std::string& text, const char* filter) { return packed({{"x", text}}, "raw", filter); }
std::vector<TestEntry> three_files() {
  return {{"a.txt", "hello\n"}, {"empty", ""}, {"d/b", std::string(130'000, 'x')}};
}

std::string all_of_stream(std::istream& in) { return {std::istreambuf_iterator<char>(in), {}}; }

struct Unpacked {
  std::string text, failure;
};
Unpacked unpack_all(const std::string& bytes, std::uint64_t most = kMostUnpacked) {
  const auto failure = std::make_shared<UnpackFailure>();
  std::string text = all_of_stream(*unpack(std::make_unique<std::istringstream>(bytes), failure, most));
  return {std::move(text), failure->message};
}

/// Text that packs badly, so that input and output both take many pieces.
std::string noise(std::size_t size) {
  std::string out;
  for (std::uint64_t x = 1; out.size() < size; x = x * 6364136223846793005u + 1442695040888963407u)
    out += static_cast<char>(x >> 40);
  return out;
}

constexpr const char* kFilters[] = {"gzip", "bzip2", "xz", "zstd"};

TEST(Unpacking, GivesTheTextThatWasPacked) {
  for (const char* const filter : kFilters)
    for (const std::size_t size : {1, 65535, 65536, 65537, 300'000}) {
      const std::string text = noise(size), bytes = compressed(text, filter);
      EXPECT_TRUE(looks_compressed(bytes)) << filter;
      EXPECT_FALSE(looks_like_archive(bytes)) << filter;
      const Unpacked u = unpack_all(bytes);
      EXPECT_EQ(u.text == text, true) << filter << size;
      EXPECT_EQ(u.failure, "") << filter;
    }
  EXPECT_FALSE(looks_compressed("BZhang's log"));
  EXPECT_FALSE(looks_compressed("# nThread 1"));
}

TEST(Unpacking, MembersOfGzipFollowOneAnotherAndZerosArePadding) {
  const std::string big = noise(100'000);
  const Unpacked u = unpack_all(compressed("one ", "gzip") + compressed(big, "gzip") + compressed(" two", "gzip") +
                                std::string(70'000, '\0'));
  EXPECT_EQ(u.text == "one " + big + " two", true);
  EXPECT_EQ(u.failure, "");
}

TEST(Unpacking, EveryPlaceToCutItIsNoticed) {
  for (const char* const filter : kFilters) {
    const std::string text = "{\"traceEvents\": []}", whole = compressed(text, filter);
    for (std::size_t n = 1; n + 8 < whole.size(); ++n) {
      const Unpacked u = unpack_all(whole.substr(0, n));
      EXPECT_NE(u.failure, "") << filter << " " << n;
      EXPECT_EQ(text.substr(0, u.text.size()), u.text) << filter << " " << n;
    }
  }
}

TEST(Unpacking, ReadsLongDataAsFarAsItGoes) {
  for (const char* const filter : kFilters) {
    const std::string text = noise(2'000'000), whole = compressed(text, filter);
    const Unpacked u = unpack_all(whole.substr(0, whole.size() - 100));
    EXPECT_THAT(u.failure, HasSubstr("copy the file again")) << filter;
    EXPECT_GT(u.text.size(), 900'000u) << filter;
    EXPECT_EQ(text.compare(0, u.text.size(), u.text), 0) << filter;
  }
}

TEST(Unpacking, RefusesTextAboveTheLimit) {
  for (const char* const filter : kFilters) {
    const std::string bomb = compressed(std::string(10'000'000, ' '), filter);
    EXPECT_LT(bomb.size(), 60'000u) << filter;
    const Unpacked u = unpack_all(bomb, 1'000'000);
    EXPECT_LE(u.text.size(), 1'000'000u);
    EXPECT_THAT(u.failure, HasSubstr("unpacks to more than 1000000 bytes; unpack it first"));
    EXPECT_EQ(unpack_all(bomb, 10'000'000).failure, "");
  }
}

TEST(Archive, HoldsItsRegularFilesAndPassesOverTheRest) {
  std::vector<TestEntry> entries = three_files();
  entries.insert(entries.begin() + 1, {"folder/", "", AE_IFDIR});
  entries.insert(entries.begin() + 2, {"link", "", AE_IFLNK});
  for (const char* const format : {"ustar", "pax", "gnutar"}) {
    const std::string bytes = packed(entries, format, "none");
    EXPECT_TRUE(looks_like_archive(bytes)) << format;
    ArchiveFiles files(std::make_unique<std::istringstream>(bytes));
    for (const TestEntry& e : three_files()) {
      ASSERT_TRUE(files.next().value()) << format;
      EXPECT_EQ(files.name(), e.name);
      EXPECT_EQ(all_of_stream(*files.content(std::make_shared<UnpackFailure>())) == e.text, true) << e.name;
    }
    EXPECT_FALSE(files.next().value());
  }
}

TEST(Archive, ReadsZip) {
  const std::string bytes = packed(three_files(), "zip", "none");
  EXPECT_TRUE(looks_like_archive(bytes));
  ArchiveFiles files(std::make_unique<std::istringstream>(bytes));
  for (const TestEntry& e : three_files()) {
    ASSERT_TRUE(files.next().value());
    EXPECT_EQ(files.name(), e.name);
    EXPECT_EQ(all_of_stream(*files.content(std::make_shared<UnpackFailure>())) == e.text, true) << e.name;
  }
  EXPECT_FALSE(files.next().value());
}

TEST(Archive, AFileEndsWhereTheNextOneIsAskedFor) {
  ArchiveFiles files(std::make_unique<std::istringstream>(packed(three_files(), "ustar", "none")));
  ASSERT_TRUE(files.next().value());
  const auto late = files.content(std::make_shared<UnpackFailure>());
  ASSERT_TRUE(files.next().value());
  EXPECT_EQ(all_of_stream(*late), "");
}

TEST(Archive, RefusesFilesAboveTheLimitAlsoWhereNobodyReadsThem) {
  const std::string bytes = packed(three_files(), "ustar", "none");
  ArchiveFiles files(std::make_unique<std::istringstream>(bytes), 100'000);
  Result<bool> more = files.next();
  while (more.ok() && *more) more = files.next();
  ASSERT_FALSE(more.ok());
  EXPECT_THAT(more.error().message, HasSubstr("unpacks to more than 100000 bytes"));
}

TEST(Archive, WritesTheSameBytesForTheSameFiles) {
  const std::vector<std::pair<std::string, std::string>> texts = {{"README.txt", "read"}, {"1/a.log", noise(300'000)}};
  for (const bool gzip : {false, true}) {
    const std::string bytes = write_archive(texts, gzip);
    EXPECT_EQ(bytes == write_archive(texts, gzip), true);
    EXPECT_EQ(looks_compressed(bytes), gzip);
    EXPECT_TRUE(!gzip || bytes.substr(4, 4) == std::string(4, 0)) << "RFC 1952: no time";
    ArchiveFiles files(std::make_unique<std::istringstream>(gzip ? unpack_all(bytes).text : bytes));
    for (const auto& [name, text] : texts) {
      ASSERT_TRUE(files.next().value());
      EXPECT_EQ(files.name(), name);
      EXPECT_EQ(all_of_stream(*files.content(std::make_shared<UnpackFailure>())) == text, true);
    }
  }
}

/// Archives as inputs.
class PackedInput : public testing::Test {
 protected:
  PackedInput() : folder_((fs::temp_directory_path() / "busbar-packed-XXXXXX").string()) {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~PackedInput() override { fs::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << bytes;
    return folder_ + "/" + name;
  }
  static std::string text_of(const std::string& name) {
    const auto text = read_text(name);
    return text.ok() ? *text : text.error().text();
  }
  static std::vector<std::string> names_of(const std::string& name) {
    std::vector<std::string> out;
    auto files = InputFiles::open(name);
    while (files.ok()) {
      auto file = files->next();
      if (file.ok() && !*file) break;
      out.push_back(file.ok() ? (*file)->name() : file.error().text());
      if (out.size() > 20) break;
    }
    return out;
  }
  std::string folder_;
};

TEST_F(PackedInput, ReadsAsTheTextItself) {
  for (const char* const filter : kFilters)
    EXPECT_EQ(text_of(file("t", compressed("size_bytes\n1\n", filter))), "size_bytes\n1\n");
  const std::vector<TestEntry> one = {{"d/", "", AE_IFDIR}, {"d/a.log", "text"}};
  EXPECT_EQ(text_of(file("one.zip", packed({{"a.log", "text"}}, "zip", "none"))), "text");
  for (const char* const filter : {"none", "gzip", "bzip2", "xz", "zstd"})
    EXPECT_EQ(text_of(file("one.tar", packed(one, "ustar", filter))), "text") << filter;
  EXPECT_EQ(text_of(file("inner.tar", packed({{"a.gz", compressed("text", "gzip")}}, "ustar", "none"))), "text");
}

TEST_F(PackedInput, AFileOfAnArchiveHasAName) {
  const std::string tar = file("t.tar.gz", packed(three_files(), "ustar", "gzip"));
  EXPECT_EQ(text_of(tar + ":a.txt"), "hello\n");
  EXPECT_EQ(text_of(tar + ":d/b").size(), 130'000u);
  EXPECT_THAT(text_of(tar), HasSubstr("is an archive of several files; name one, such as " + tar + ":a.txt"));
  EXPECT_THAT(text_of(tar + ":none"), HasSubstr("holds no file none"));
  EXPECT_THAT(text_of(file("plain", "x") + ":none"), HasSubstr("there is no such file"));
  EXPECT_FALSE(names_input(folder_ + "/plain:4")) << "a text hides no preset";
  EXPECT_EQ(names_of(tar), (std::vector<std::string>{tar + ":a.txt", tar + ":empty", tar + ":d/b"}));
}

TEST_F(PackedInput, NoFileInAnArchiveIsAnErrorAndATextIsNoArchive) {
  const std::string folders = file("f.tar", packed({{"d/", "", AE_IFDIR}, {"l", "", AE_IFLNK}}, "ustar", "none"));
  EXPECT_EQ(text_of(folders), folders + ": is an archive without a file in it");
  EXPECT_EQ(names_of(folders), std::vector<std::string>{folders + ": is an archive without a file in it"});
  const std::string nested =
      file("n.tar", packed({{"a.tar", packed(three_files(), "ustar", "none")}}, "ustar", "none"));
  EXPECT_THAT(text_of(nested), HasSubstr("is an archive within an archive; unpack it first"));
}

TEST_F(PackedInput, AFolderStandsForItsFilesAndThoseOfItsArchives) {
  fs::create_directory(folder_ + "/sub");
  const std::string a = file("a", "1"), tar = file("b.tar", packed(three_files(), "ustar", "none")),
                    c = file("sub/c", "3");
  EXPECT_EQ(names_of(folder_), (std::vector<std::string>{a, tar + ":a.txt", tar + ":empty", tar + ":d/b", c}));
  fs::create_directory(folder_ + "/none");
  EXPECT_EQ(InputFiles::open(folder_ + "/none").error().message, "no file is in this folder");
  fs::create_symlink("loop", folder_ + "/loop");
  EXPECT_TRUE(names_input(folder_ + "/loop")) << "to be refused with the reason";
  EXPECT_FALSE(names_input("{name: " + std::string(5000, 'a') + "}")) << "a machine written out";
  EXPECT_FALSE(names_input(folder_ + "/no such file"));
}

TEST_F(PackedInput, NamesThatLeaveTheFolderAreOnlyLabels) {
  const std::string tar = file("t.tar", packed({{"../../../tmp/x", "1"}, {"/etc/x", "2"}}, "ustar", "none"));
  EXPECT_EQ(text_of(tar + ":../../../tmp/x"), "1");
  EXPECT_EQ(text_of(tar + ":/etc/x"), "2");
}

TEST_F(PackedInput, Utf16IsText) {
  using namespace std::string_literals;
  EXPECT_EQ(text_of(file("le", "\xff\xfe"s + "a\0\xe4\0\x3c\xd8\xdf\xdf\n\0"s)), "a\xc3\xa4\xf0\x9f\x8f\x9f\n");
  EXPECT_EQ(text_of(file("be", "\xfe\xff"s + "\0a\0\xe4\0\n"s)), "a\xc3\xa4\n");
  EXPECT_EQ(text_of(file("half", "\xff\xfe"s + "a\0\x3c\xd8z\0b"s)), "a\xef\xbf\xbdz\xef\xbf\xbd");
  EXPECT_EQ(text_of(file("end", "\xff\xfe"s + "a\0\x3c\xd8"s)), "a\xef\xbf\xbd");
  EXPECT_EQ(text_of(file("no mark le", "n\0001\0:\0\t\0\xe4\0\n\0"s)), "n1:\t\xc3\xa4\n");
  EXPECT_EQ(text_of(file("no mark be", "\0n\0001\0:\0x\0\n"s)), "n1:x\n");
  EXPECT_FALSE(read_text(file("numbers", "\1\0\2\0\3\0\4\0\5\0"s)).ok());
}

}  // namespace
}  // namespace busbar
