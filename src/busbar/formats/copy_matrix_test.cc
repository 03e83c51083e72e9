#include "busbar/formats/copy_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/formats/fixture.h"

namespace busbar::formats {
namespace {

using ::testing::HasSubstr;

TEST(CopyMatrix, HasTheTitleTheLinesAndTheFiguresOfEachMatrix) {
  const CopyTest test = read_copy_matrices(fixture("link-tests/nvmlc-8xa100-p2p.txt"), "p2p.txt").value();
  EXPECT_EQ(test.product, "NVIDIA A100-SXM4-80GB");
  ASSERT_EQ(test.matrices.size(), 8u);
  const CopyMatrix& writes = test.matrices[2];
  EXPECT_EQ(writes.title, "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)");
  EXPECT_EQ(writes.first_line, 32);
  EXPECT_EQ(writes.last_line, 40);
  EXPECT_EQ(writes.cells[7][0], 273.52);
  EXPECT_EQ(test.matrices[6].corner, "CPU");
  EXPECT_EQ(test.matrices[6].title, "P2P=Disabled Latency Matrix (us)");
}

TEST(CopyMatrix, AFigureThatIsNotAvailableIsZero) {
  const CopyTest test = read_copy_matrices("bandwidth (GB/s)\n 0 1\n 0 N/A 276.1\n 1 275 N/A\n", "m").value();
  EXPECT_EQ(test.matrices[0].cells, (std::vector<std::vector<double>>{{0, 276.1}, {275, 0}}));
  const CopyTest odd = read_copy_matrices("bandwidth (GB/s)\n 0 1\n 0 nan inf\n 1 -275 1e999\n", "m").value();
  EXPECT_EQ(odd.matrices[0].cells, (std::vector<std::vector<double>>{{0, 0}, {0, 0}}));
}

TEST(CopyMatrix, RefusesABrokenMatrixWithItsLine) {
  const auto error = [](const char* text) { return read_copy_matrices(text, "m.txt").error().text(); };
  EXPECT_THAT(error("D\\D 0 1\n0 1.5 2.5\n1 2.5\n"), HasSubstr("m.txt:3: row 1 of the matrix needs"));
  EXPECT_THAT(error("D\\D 0 1\n0 1.5 2.5\n"), HasSubstr("ends after 1 of 2 rows; give the complete output"));
}

}  // namespace
}  // namespace busbar::formats
