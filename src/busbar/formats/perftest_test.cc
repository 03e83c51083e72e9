#include "busbar/formats/perftest.h"

#include <gtest/gtest.h>

#include <vector>

#include "busbar/base/text.h"
#include "busbar/formats/fixture.h"

namespace busbar::formats {
namespace {

std::vector<PerftestRow> perftest_rows(std::string_view text) {
  PerftestLines lines;
  std::vector<PerftestRow> out;
  for (const std::string_view line : split_at(text, '\n'))
    if (const auto row = lines.read(line)) out.push_back(*row);
  return out;
}

TEST(Perftest, ReadsRatesInTheUnitOfTheTable) {
  const auto rows = perftest_rows(fixture("link-tests/azure-hdr-ib_write_bw.txt"));
  ASSERT_EQ(rows.size(), 23u);
  EXPECT_EQ(rows.back().bytes, 8388608);
  EXPECT_EQ(rows.back().gigabits, 196.55);
  const auto old = perftest_rows("#bytes #iterations BW peak[MB/sec] BW average[MB/sec]\n 65536 5000 11500 11444\n");
  ASSERT_EQ(old.size(), 1u);
  EXPECT_NEAR(old[0].gigabits, 96, 0.01);
}

TEST(Perftest, ReadsTheTypicalLatency) {
  const auto rows = perftest_rows(fixture("link-tests/azure-hdr-ib_read_lat.txt"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].us, 5.49);
  EXPECT_EQ(rows[0].gigabits, 0);
}

TEST(Perftest, SaysWhichTestItWas) {
  const auto rows = perftest_rows(
      "initializing CUDA\n"
      "                    RDMA_Write Bidirectional BW Test\n"
      " Dual-port       : OFF          Device         : mlx5_3\n"
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 65536      5000             375.00             374.10             0.7\n"
      "                    Send Latency Test\n"
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n"
      " 2       1000          1.76           6.12         1.79\n");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].device, "mlx5_3");
  EXPECT_TRUE(rows[0].both_ways);
  EXPECT_TRUE(rows[0].gpu_memory);
  EXPECT_EQ(rows[1].test, "Send Latency");
  EXPECT_FALSE(rows[1].gpu_memory);
}

}  // namespace
}  // namespace busbar::formats
