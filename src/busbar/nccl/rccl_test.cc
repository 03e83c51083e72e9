#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "busbar/nccl/comm.h"
#include "busbar/nccl/internal/rccl_models.h"
#include "busbar/nccl/test_nodes.h"

namespace busbar::nccl {
namespace {

std::vector<std::string> split(std::string_view text, char at = ' ') {
  std::vector<std::string> out;
  std::istringstream in{std::string(text)};
  for (std::string word; std::getline(in, word, at);) out.push_back(word);
  return out;
}

std::string order_of(const std::string& ring) {
  const auto parts = split(ring, ':');
  return parts.size() == 3 ? parts[1] : parts[0];
}

NcclComm amd_comm(std::uint32_t nodes, std::uint32_t nics = 8, const std::string& target = "gfx942",
                  const NcclSettings& settings = {}) {
  const topology::Topology t = nccl_machine(amd_node(nics, target), nodes, 400);
  return build_nccl_comm(t, t.gpus(), settings).value();
}

int model_of(const NcclComm& c) {
  const auto& match = c.shapes.front().graphs.rccl;
  return match ? match->number : 0;
}

TEST(RcclModels, RingsArePermutationsAndWidthsSymmetric) {
  EXPECT_EQ(rccl_models().size(), 46u);
  for (const RcclModel& m : rccl_models()) {
    SCOPED_TRACE(m.number);
    const auto rows = split(m.widths);
    ASSERT_EQ(rows.size(), m.gpus);
    for (std::size_t a = 0; a < rows.size(); ++a)
      for (std::size_t b = 0; b < rows.size(); ++b) EXPECT_EQ(rows[a][b], rows[b][a]);
    std::vector<std::string> strings = split(m.rings);
    if (m.options.rails != nullptr)
      for (const auto more : {m.options.rails->trees, m.options.rails->last, m.options.rails->before_last})
        for (const std::string& s : split(more)) strings.push_back(s);
    for (const std::string& s : strings) {
      const std::string order = order_of(s);
      EXPECT_EQ(std::set<char>(order.begin(), order.end()).size(), m.gpus) << s;
      EXPECT_EQ(order.size(), m.gpus) << s;
    }
  }
}

TEST(RcclModels, RailsUseEveryDirectedLinkOnce) {
  for (const RcclModel& m : rccl_models()) {
    if (m.options.rails == nullptr) continue;
    for (const auto strings : {m.rings, m.options.rails->trees}) {
      std::map<std::string, int> uses;
      for (const std::string& s : split(strings)) {
        const std::string order = order_of(s);
        for (std::size_t i = 0; i + 1 < order.size(); ++i) ++uses[order.substr(i, 2)];
      }
      EXPECT_EQ(uses.size(), strings.empty() ? 0u : 56u) << m.number;
      for (const auto& [link, times] : uses) EXPECT_EQ(times, 1) << m.number << " " << link;
    }
  }
}

TEST(RcclModels, AMeshOfEightIsTheModelOfItsNics) {
  EXPECT_EQ(model_of(amd_comm(1)), 79);
  EXPECT_EQ(model_of(amd_comm(2)), 81);
  EXPECT_EQ(model_of(amd_comm(2, 16)), 84);
  EXPECT_EQ(amd_comm(2).shapes.front().graphs.rccl->index, 40u) << "as RCCL's log prints it";
  NcclSettings off;
  off.rccl_models = false;
  EXPECT_EQ(model_of(amd_comm(1, 8, "gfx942", off)), 0);
}

TEST(RcclModels, SomeOfItsGpusAreNoModel) {
  const topology::Topology t = nccl_machine(amd_node(), 1, 400);
  const NcclComm c = build_nccl_comm(t, t.gpus().first(4), {}).value();
  EXPECT_EQ(model_of(c), 0);
  EXPECT_GT(c.channels, 0u);
}

TEST(RcclModels, ChannelsEqualRccl) {
  EXPECT_EQ(amd_comm(1).channels, 56u);
  EXPECT_EQ(amd_comm(1, 8, "gfx950").channels, 112u);
  EXPECT_EQ(amd_comm(2).channels, 64u);
  EXPECT_EQ(amd_comm(2, 8, "gfx950").channels, 64u);
  NcclSettings few;
  few.max_channels = 8;
  EXPECT_EQ(amd_comm(1, 8, "gfx942", few).channels, 8u);
}

TEST(RcclModels, OneNodeUsesEveryLinkEqually) {
  const NcclComm c = amd_comm(1);
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> uses;
  for (std::uint32_t ch = 0; ch < c.channels; ++ch) {
    const NcclRing ring = nccl_ring(c, ch);
    for (std::size_t i = 0; i < 8; ++i) ++uses[{ring.order[i], ring.order[(i + 1) % 8]}];
  }
  ASSERT_EQ(uses.size(), 56u);
  for (const auto& [link, times] : uses) EXPECT_EQ(times, 56 * 8 / 56);
}

/// Every ring leaves a node by the rail on which it enters the next node, and all NICs are used equally often.
TEST(RcclModels, RingsStayOnTheirRailsForAnyNumberOfNodes) {
  for (const std::uint32_t nodes : {2u, 3u, 4u, 5u, 8u}) {
    SCOPED_TRACE(nodes);
    const NcclComm c = amd_comm(nodes);
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> entries;
    for (std::uint32_t ch = 0; ch < c.channels; ++ch) {
      const NcclRing ring = nccl_ring(c, ch);
      EXPECT_EQ(std::set<std::uint32_t>(ring.order.begin(), ring.order.end()).size(), 8 * nodes);
      for (std::uint32_t n = 0; n < nodes; ++n) {
        EXPECT_EQ(ring.ports[n].out.net, ring.ports[(n + 1) % nodes].in.net) << "channel " << ch << " node " << n;
        ++entries[{n, ring.ports[n].in.net}];
      }
    }
    EXPECT_EQ(entries.size(), 8 * nodes);
    for (const auto& [port, times] : entries) EXPECT_EQ(times, 8);
  }
}

TEST(RcclModels, WithoutReversalRingsChangeRails) {
  NcclSettings straight;
  straight.rccl_reversal = false;
  const NcclRing ring = nccl_ring(amd_comm(2, 8, "gfx942", straight), 0);
  EXPECT_NE(ring.ports[0].out.net, ring.ports[1].in.net);
}

TEST(RcclModels, TreesStayOnTheirRails) {
  for (const std::uint32_t nodes : {2u, 3u, 6u, 8u, 13u}) {
    const NcclComm c = amd_comm(nodes);
    for (std::uint32_t ch = 0; ch < c.channels; ++ch) {
      const NcclTree tree = nccl_tree(c, ch);
      for (std::uint32_t r = 0; r < c.ranks; ++r) {
        if (tree.up[r] == kNoRank || static_cast<std::uint32_t>(tree.up[r]) / 8 == r / 8) continue;
        EXPECT_EQ(static_cast<std::uint32_t>(tree.up[r]) % 8, r % 8) << nodes << " nodes, channel " << ch;
      }
    }
  }
}

TEST(RcclModels, PxnNeedsManyRanks) {
  EXPECT_FALSE(*amd_comm(2).settings.pxn);
  EXPECT_TRUE(*amd_comm(8).settings.pxn);
  EXPECT_TRUE(*amd_comm(4, 8, "gfx950").settings.pxn);
}

}  // namespace
}  // namespace busbar::nccl
