#include "busbar/accuracy/link_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace busbar::accuracy {
namespace {

using ::testing::HasSubstr;
using Kind = LinkTest::Kind;

std::vector<LinkTest> tests_in(const std::string& name) {
  std::ifstream in("tests/fixtures/link-tests/" + name);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(looks_like_link_tests(text)) << name;
  return read_link_tests(text, name).value();
}

TEST(LinkTests, EachMatrixFitsAFigureOrSaysWhyNot) {
  const auto tests = tests_in("nvmlc-8xa100-p2p.txt");
  std::vector<Kind> kinds;
  for (const LinkTest& t : tests) {
    kinds.push_back(t.kind);
    EXPECT_EQ(t.kind == Kind::kOther, !t.why.empty()) << t.what;
  }
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kOther, Kind::kPairRates, Kind::kHostCopiesBothWays, Kind::kOther,
                                      Kind::kHostCopyLatency, Kind::kOther, Kind::kOther}));
  EXPECT_NEAR(tests[2].pairs[0][1], 15.77 / (2 * 16.19), 1e-9);
  EXPECT_EQ(tests[1].at.first_line, 32);
}

TEST(LinkTests, TheLargestMessageIsTheRateOfANic) {
  const auto tests = tests_in("azure-hdr-ib_write_bw.txt");
  ASSERT_EQ(tests.size(), 1u);
  EXPECT_EQ(tests[0].kind, Kind::kNicRate);
  EXPECT_NEAR(tests[0].value, 196.55 / 8, 1e-9);
  EXPECT_EQ(tests[0].at.last_line, 25);
}

TEST(LinkTests, LatenciesThatAreNotOneWayAreNamed) {
  EXPECT_THAT(tests_in("azure-hdr-ib_read_lat.txt")[0].why, HasSubstr("its test is not named"));
  const char* table = " Test\n #bytes #iterations t_min[usec] t_max[usec] t_typical[usec]\n 2 1000 1.7 6.1 1.79\n";
  const auto of = [&](const std::string& title) { return read_link_tests(title + table, "l.txt").value()[0]; };
  EXPECT_EQ(of("Send Latency").kind, Kind::kNicLatency);
  EXPECT_THAT(of("RDMA_Read Latency").why, HasSubstr("twice"));
}

TEST(LinkTests, RefusesBrokenFilesWithTheirPlace) {
  EXPECT_THAT(read_link_tests("P2P=Enabled Latency Matrix (us)\nGPU 0 1\n0 1\n", "p.txt").error().text(),
              HasSubstr("p.txt:3: row 0"));
  EXPECT_THAT(read_link_tests("#bytes #iterations BW average[Gb/sec]\n", "b.txt").error().text(),
              HasSubstr("b.txt: the table of perftest has no rows"));
}

}  // namespace
}  // namespace busbar::accuracy
