#include "busbar/base/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace busbar {
namespace {

std::uint64_t rate(const char* text) { return per_second(parse_rate(text).value()); }
std::uint64_t size(const char* text) { return count(parse_size(text).value()); }
std::uint64_t cli_size(const char* text) { return count(parse_cli_size(text).value()); }
std::int64_t ps(const char* text) { return parse_duration(text).value().in_ps(); }
template <typename T>
std::string why(const Result<T>& r) {
  return r.ok() ? "no error" : r.error().message;
}

TEST(Quantity, ReadsRatesInBitsAndBytes) {
  EXPECT_EQ(rate("400Gb/s"), 50'000'000'000u);
  EXPECT_EQ(rate(" 50 GB/s "), 50'000'000'000u);
  EXPECT_EQ(rate("3.35TB/s"), 3'350'000'000'000u);
  EXPECT_EQ(rate("26.5625 GB/s"), 26'562'500'000u);
  EXPECT_EQ(rate("1000 TB/s"), 1'000'000'000'000'000u);
  EXPECT_EQ(rate("8b/s"), 1u);
}

TEST(Quantity, RefusesRatesThatCannotBeMeant) {
  EXPECT_EQ(why(parse_rate("400")), "'400' has no unit; write 400Gb/s");
  EXPECT_EQ(why(parse_rate("-5Gb/s")), "'-5Gb/s' is negative; a rate must not be");
  EXPECT_EQ(why(parse_rate("0GB/s")), "'0GB/s' is zero; a rate must be at least 1 B/s");
  EXPECT_EQ(why(parse_rate("0.2B/s")), "'0.2B/s' is zero; a rate must be at least 1 B/s");
  EXPECT_EQ(why(parse_rate("400Gbps")), "'400Gbps': unknown unit 'Gbps' of a rate; write 400Gb/s?");
  EXPECT_EQ(why(parse_rate("5GiB/s")), "'5GiB/s': unknown unit 'GiB/s' of a rate; write 5GB/s?");
  for (const char* text : {"", " ", "GB/s", "nanGB/s", "infGB/s", "1e999GB/s", "--1GB/s", "1e30GB/s", "0x10GB/s"}) {
    EXPECT_FALSE(parse_rate(text).ok()) << text;
  }
}

TEST(Quantity, ReadsSizesDecimalAndBinary) {
  EXPECT_EQ(size("80GB"), 80'000'000'000u);
  EXPECT_EQ(size("512 MiB"), 536'870'912u);
  EXPECT_EQ(size("0B"), 0u);
  EXPECT_EQ(why(parse_size("80")), "'80' has no unit; write 80GB");
  EXPECT_EQ(why(parse_size("-1GB")), "'-1GB' is negative; a size must not be");
  EXPECT_FALSE(parse_size("99999999PB").ok());
}

TEST(Quantity, ReadsCommandLineSizesAsNcclTestsDoes) {
  EXPECT_EQ(cli_size("8"), 8u);
  EXPECT_EQ(cli_size("1G"), 1u << 30);
  EXPECT_EQ(cli_size("1GB"), 1u << 30);
  EXPECT_EQ(cli_size("64KiB"), 65'536u);
  EXPECT_EQ(cli_size("1.5k"), 1'536u);
  EXPECT_EQ(cli_size("2T"), std::uint64_t{1} << 41);
  for (const char* text : {"", "G", "-1", "1X", "1GBB", "1iB", "1e40"}) EXPECT_FALSE(parse_cli_size(text).ok()) << text;
}

TEST(Quantity, ReadsTimes) {
  EXPECT_EQ(ps("2us"), 2'000'000);
  EXPECT_EQ(ps("0.5 us"), 500'000);
  EXPECT_EQ(ps("2\u00b5s"), 2'000'000);
  EXPECT_EQ(ps("250ps"), 250);
  EXPECT_EQ(ps("3 s"), 3'000'000'000'000);
  EXPECT_EQ(ps("0ns"), 0);
  EXPECT_EQ(why(parse_duration("2")), "'2' has no unit; write 2us");
  EXPECT_EQ(why(parse_duration("-2us")), "'-2us' is negative; a time must not be");
  EXPECT_FALSE(parse_duration("200 days").ok());
}

TEST(Quantity, ShowsThreeSignificantDigits) {
  EXPECT_EQ(format_rate(49.2e9), "49.2 GB/s");
  EXPECT_EQ(format_rate(1.8e12), "1.80 TB/s");
  EXPECT_EQ(format_rate(999.7e9), "1.00 TB/s");
  EXPECT_EQ(format_size(66.44e9), "66.4 GB");
  EXPECT_EQ(format_size(512), "512 B");
  EXPECT_EQ(format_duration(9.312), "9.31 s");
  EXPECT_EQ(format_duration(159.2e-6), "159 us");
  EXPECT_EQ(format_duration(0), "0 s");
  EXPECT_EQ(format_number(12345), "12345");
  EXPECT_EQ(format_number(0.01234), "0.0123");
  EXPECT_EQ(format_number(9.999), "10.0");
  EXPECT_EQ(format_number(-1.5), "-1.50");
  EXPECT_EQ(format_number(0.5, 2), "0.50");
  EXPECT_EQ(format_binary_size(1u << 30), "1 GiB");
  EXPECT_EQ(format_binary_size(1000), "1000 B");
  EXPECT_EQ(format_binary_size(1'000'000), "1.00 MB");
}

TEST(Quantity, SuggestsOnlyNearWords) {
  EXPECT_EQ(nearest("rat", {"latency", "rate"}), "rate");
  EXPECT_EQ(nearest("Rate", {"latency", "rate"}), "rate");
  EXPECT_EQ(nearest("lanes", {"latency", "rate"}), "");
  EXPECT_EQ(nearest("llama3-405b", {"llama3-70b", "llama3-8b", "llama3.1-405b"}), "llama3.1-405b");
  EXPECT_EQ(nearest("h100", {"a100", "hgx-h100-8", "dgx-h100", "gb200"}), "dgx-h100");
  EXPECT_EQ(nearest("rat", {"memory_rate"}), "");
  EXPECT_EQ(nearest("ndoe", {"node", "nodes"}), "node");
}

// Published values of the function: http://www.isthe.com/chongo/tech/comp/fnv
TEST(Quantity, HashesAsFnv1aDoes) {
  EXPECT_EQ(hash64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash64("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash64("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(hash64("bar", hash64("foo")), hash64("foobar"));
}

RC_GTEST_PROP(Quantity, NeverCrashesOnAnyText, (const std::string& text)) {
  (void)parse_rate(text).ok();
  (void)parse_size(text).ok();
  (void)parse_cli_size(text).ok();
  (void)parse_duration(text).ok();
}

RC_GTEST_PROP(Quantity, WholeNumbersSurvive, ()) {
  const auto n = *rc::gen::inRange<std::uint64_t>(1, 1'000'000);
  RC_ASSERT(rate((std::to_string(n) + "MB/s").c_str()) == n * 1'000'000);
  RC_ASSERT(size((std::to_string(n) + "KiB").c_str()) == n * 1024);
  RC_ASSERT(static_cast<std::uint64_t>(ps((std::to_string(n) + "ns").c_str())) == n * 1000);
}

}  // namespace
}  // namespace busbar
