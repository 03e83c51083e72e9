#include "busbar/doctor/internal/nic_distances.h"

#include <gtest/gtest.h>

#include "busbar/base/text.h"

namespace busbar::doctor {
namespace {

std::vector<std::string> said(const std::string& text) {
  NicDistances distances;
  std::vector<std::string> out;
  for (const std::string_view line : split_at(text, '\n'))
    if (std::string s = distances.said_by(line); !s.empty()) out.push_back(std::move(s));
  return out;
}

const char* const kMatrix =
    "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV18\tPXB\tSYS\t0-55\t0\n"
    "GPU1\tNV18\t X \tSYS\tSYS\t56-111\t1\n"
    "NIC0\tPXB\tSYS\t X \tSYS\n"
    "NIC1\tSYS\tSYS\tSYS\t X \n";

TEST(NicDistances, AreThoseOfTheNearestNicOfEachGpu) {
  const std::vector<std::string> expected{
      "matrix part GPU0 has its nearest NIC at distance PXB, its nearest GPU at NV",
      "matrix part GPU1 has its nearest NIC at distance SYS, its nearest GPU at NV"};
  EXPECT_EQ(said(kMatrix), expected);
  std::string blanks = kMatrix;
  for (std::size_t at = 0; (at = blanks.find('\t', at)) != blanks.npos;) blanks.replace(at, 1, "   ");
  EXPECT_EQ(said(blanks), expected) << "blanks instead of tabs";
  EXPECT_EQ(said("log line\n" + blanks.substr(3) + "\nlog line\n"), expected)
      << "without the first blank, inside a log";
}

TEST(NicDistances, TellGpusThatReachEachOtherByPcieOnly) {
  const std::vector<std::string> expected{"matrix part GPU0 has no NIC, its nearest GPU at SYS",
                                          "matrix part GPU1 has no NIC, its nearest GPU at SYS"};
  EXPECT_EQ(said("\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n"), expected);
}

TEST(NicDistances, NeedAHeader) {
  EXPECT_TRUE(said("GPU1\tNV18\t X \tSYS\tSYS\t56-111\t1\n").empty());
  EXPECT_TRUE(said("\tGPU0\tNIC0\nanother line\nGPU0\t X \tSYS\n").empty());
}

TEST(NicDistances, SurviveAMatrixCutAnywhere) {
  const std::string text = kMatrix;
  for (std::size_t end = 0; end < text.size(); ++end) EXPECT_LE(said(text.substr(0, end)).size(), 2u);
}

}  // namespace
}  // namespace busbar::doctor
