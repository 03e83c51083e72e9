#include "busbar/formats/odd_cables.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar::formats {
namespace {

using ::testing::HasSubstr;

/// ibnetdiscover of four leaves, two spines, two cables between each two, and two hosts with one NIC at each leaf.
/// `change` gives the speed of the cable from a leaf's port, empty: no cable.
template <typename Change>
std::string network_text(const Change& change) {
  std::string out = "#\n# Topology file: generated on Wed Aug  6 16:11:23 2025\n#\n\n";
  for (int leaf = 0; leaf < 4; ++leaf) {
    out +=
        fmt::format("switchguid=0xa{0}(a{0})\nSwitch\t40 \"S-a{0}\"\t\t# \"LEAF-{0}\" enhanced port 0 lid {1} lmc 0\n",
                    leaf, leaf + 1);
    for (int host = 0; host < 2; ++host)
      if (const std::string speed = change(leaf, host + 1); !speed.empty())
        out += fmt::format("[{0}]\t\"H-b{1}{2}\"[1](b{1}{2}) \t\t# \"host-{1}{2} mlx5_0\" lid 9 {3}\n", host + 1, leaf,
                           host, speed);
    for (int up = 0; up < 4; ++up)
      if (const std::string speed = change(leaf, 10 + up); !speed.empty())
        out += fmt::format("[{}]\t\"S-c{}\"[{}]\t\t# \"SPINE-{}\" lid 20 {}\n", 10 + up, up / 2, 2 * leaf + up % 2 + 1,
                           up / 2, speed);
    out += "\n";
  }
  for (int spine = 0; spine < 2; ++spine) {
    out += fmt::format(
        "switchguid=0xc{0}(c{0})\nSwitch\t40 \"S-c{0}\"\t\t# \"SPINE-{0}\" enhanced port 0 lid 20 lmc 0\n", spine);
    for (int leaf = 0; leaf < 4; ++leaf)
      for (int k = 0; k < 2; ++k)
        if (const std::string speed = change(leaf, 10 + 2 * spine + k); !speed.empty())
          out += fmt::format("[{0}]\t\"S-a{1}\"[{2}]\t\t# \"LEAF-{1}\" lid {3} {4}\n", 2 * leaf + k + 1, leaf,
                             10 + 2 * spine + k, leaf + 1, speed);
    out += "\n";
  }
  return out;
}

std::vector<OddCable> odd_in(const std::string& text) {
  ImportSource source = ImportSource::of_text(text, "fabric.txt");
  return find_odd_cables(source).value().value();
}

TEST(OddCables, ASoundNetworkHasNone) {
  EXPECT_THAT(odd_in(network_text([](int, int) { return "4xNDR"; })), ::testing::IsEmpty());
}

TEST(OddCables, OneDegradedAndOneMissingCableAreNamed) {
  const auto odd = odd_in(network_text([](int leaf, int port) {
    if (leaf == 1 && port == 12) return "2xNDR";
    return leaf == 2 && port == 11 ? "" : "4xNDR";
  }));
  ASSERT_EQ(odd.size(), 2u);
  EXPECT_FALSE(odd[0].missing);
  EXPECT_EQ(odd[0].part, "leaf1-spine1");
  EXPECT_THAT(odd[0].explanation, HasSubstr("LEAF-1 port 12 to SPINE-1 port 3 runs at 2x NDR"));
  EXPECT_GT(odd[0].line, 0);
  EXPECT_TRUE(odd[1].missing);
  EXPECT_EQ(odd[1].part, "leaf2-spine0");
  EXPECT_THAT(odd[1].explanation, HasSubstr("joined by 1 cable, switches like them by 2"));
}

TEST(OddCables, ASlowNicCableIsNamed) {
  const auto odd = odd_in(network_text([](int leaf, int port) { return leaf == 3 && port == 2 ? "4xHDR" : "4xNDR"; }));
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_THAT(odd[0].part, HasSubstr("leaf3"));
  EXPECT_THAT(odd[0].explanation, HasSubstr("host-31"));
}

TEST(OddCables, ASwitchWithoutAnyOfTheCablesIsOfAnotherPart) {
  EXPECT_THAT(odd_in(network_text([](int leaf, int port) { return leaf == 2 && port >= 10 ? "" : "4xNDR"; })),
              ::testing::IsEmpty());
}

TEST(OddCables, OtherFilesAreNoNetworks) {
  ImportSource source = ImportSource::of_text("size_bytes,time_us\n8,1\n", "a.csv");
  EXPECT_FALSE(find_odd_cables(source).value().has_value());
}

}  // namespace
}  // namespace busbar::formats
