#include "busbar/formats/gzip_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <sstream>

#include "busbar/formats/fixture.h"
#include "busbar/formats/import.h"
#include "busbar/formats/lines.h"

namespace busbar {
namespace {

using ::testing::HasSubstr;

std::string packed(const std::string& text) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

struct Unpacked {
  std::string text, failure;
};
Unpacked unpack(const std::string& bytes, std::uint64_t most = kMostUnpacked) {
  auto failure = std::make_shared<UnpackFailure>();
  const auto in = unpack_gzip(std::make_unique<std::istringstream>(bytes), failure, most);
  std::string text{std::istreambuf_iterator<char>(*in), {}};
  return {std::move(text), status_of(*failure, "f.gz").ok() ? "" : status_of(*failure, "f.gz").error().text()};
}

/// Text that packs badly, so that input and output both take many pieces.
std::string noise(std::size_t size) {
  std::string out;
  for (std::uint64_t x = 1; out.size() < size; x = x * 6364136223846793005u + 1442695040888963407u)
    out += static_cast<char>(x >> 40);
  return out;
}

/// A file that exists during the test.
struct Temporary {
  std::string path;
  explicit Temporary(const std::string& bytes) : path(testing::TempDir() + "busbar-gzip-test.gz") {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~Temporary() { std::filesystem::remove(path); }
};

TEST(Gzip, UnpacksToThePackedText) {
  for (const std::size_t size : {0, 1, 65535, 65536, 65537, 300'000}) {
    const std::string text = noise(size);
    const Unpacked u = unpack(packed(text));
    EXPECT_EQ(u.text == text, true) << size;
    EXPECT_EQ(u.failure, "") << size;
  }
}

TEST(Gzip, MembersFollowOneAnotherAndZerosArePadding) {
  const std::string big = noise(100'000);
  const Unpacked u = unpack(packed("one ") + packed(big) + packed("") + packed(" two") + std::string(70'000, '\0'));
  EXPECT_EQ(u.text == "one " + big + " two", true);
  EXPECT_EQ(u.failure, "");
}

TEST(Gzip, EveryPlaceToCutItIsNoticed) {
  const std::string text = "{\"traceEvents\": []}", whole = packed(text);
  for (std::size_t n = 1; n < whole.size(); ++n) {
    const Unpacked u = unpack(whole.substr(0, n));
    EXPECT_THAT(u.failure, HasSubstr("f.gz: byte " + std::to_string(n) + ": the file ends within compressed data"));
    EXPECT_EQ(text.substr(0, u.text.size()), u.text);
  }
}

TEST(Gzip, AFlippedBitIsNoticed) {
  const std::string whole = packed(noise(2000));
  for (std::size_t at = 10; at < whole.size(); at += 37) {  // starts after the header, whose time stamp may be anything
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 4);
    EXPECT_NE(unpack(broken).failure, "") << at;
  }
  EXPECT_THAT(unpack(packed("text") + "rubbish").failure, HasSubstr("is broken gzip data: incorrect header check"));
}

TEST(Gzip, RefusesTextAboveTheLimit) {
  const std::string bomb = packed(std::string(50'000'000, ' '));
  EXPECT_LT(bomb.size(), 60'000u);
  const Unpacked u = unpack(bomb, 1'000'000);
  EXPECT_LE(u.text.size(), 1'000'000u);
  EXPECT_THAT(u.failure, HasSubstr("unpacks to more than 1000000 bytes; unpack it with gunzip first"));
  EXPECT_EQ(unpack(bomb, 50'000'000).failure, "");
}

TEST(Gzip, APackedFileReadsAsTheFileItself) {
  for (const char* name : {"kineto/hta-mi250_minitoy_train_ROCm6_2_kineto.json", "nccl-topo/oci-H100-topology.xml",
                           "nccl-log/nebius-2x8-h100-sd.log", "chakra-et/custom_ring_allreduce_8npus_1MB.0.et"}) {
    const std::string text = fixture(name);
    const Temporary file(packed(text));
    auto plain = ImportSource::open("tests/fixtures/" + std::string(name)), source = ImportSource::open(file.path);
    ASSERT_TRUE(plain.ok() && source.ok()) << name;
    EXPECT_EQ(plain->head() == source->head(), true) << name;
    EXPECT_EQ(source->whole().value() == text, true) << name;
    const auto report = import_source(*plain, {}), same = import_source(*source, {});
    ASSERT_TRUE(report.ok() && same.ok()) << name;
    EXPECT_EQ(report->kind, same->kind);
    EXPECT_EQ(report->found.dump(), same->found.dump()) << name;
  }
}

TEST(Gzip, LinesOfAPackedFileKeepTheirNumbers) {
  std::string text;
  for (int i = 0; i < 500'000; ++i) text += "line " + std::to_string(i) + "\n";
  const Temporary file(packed(text));
  const auto source = ImportSource::open(file.path);
  ASSERT_TRUE(source.ok());
  auto lines = source->lines();
  ASSERT_TRUE(lines.ok());
  std::string_view line;
  int n = 0;
  while (lines->next(line)) ASSERT_EQ(line, "line " + std::to_string(n++));
  EXPECT_EQ(lines->number(), 500'000);
  EXPECT_TRUE(source->complete().ok());
}

TEST(Gzip, AReaderThatMeetsAnEarlyEndReportsItsCause) {
  std::string text = R"({"traceEvents": [)";  // longer than the beginning that tells the kind
  while (text.size() < 300'000)
    text += R"({"ph": "X", "cat": "kernel", "name": ")" + std::to_string(text.size()) + "\"},";
  const std::string whole = packed(text + R"({"ph": "X"}]})");
  {
    const Temporary file(whole);
    auto source = ImportSource::open(file.path);
    ASSERT_TRUE(source.ok());
    EXPECT_TRUE(import_source(*source, {}).ok());
  }
  const Temporary file(whole.substr(0, whole.size() - 5));
  auto source = ImportSource::open(file.path);
  ASSERT_TRUE(source.ok());
  const auto report = import_source(*source, {});
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().text(), HasSubstr("the file ends within compressed data"));
  EXPECT_FALSE(source->whole().ok());
}

}  // namespace
}  // namespace busbar
