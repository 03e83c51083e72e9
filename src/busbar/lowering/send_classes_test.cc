// Sends of rings that are alike all around are one class: docs/models/shortcuts.md, "sends alike".
#include "busbar/lowering/internal/send_classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "busbar/base/random.h"

namespace busbar::lowering {
namespace {

/// A ring over `n` ranks, rank i of a node of `node`, one link from each rank to the next.
std::vector<SendOver> ring_of_nodes(std::uint32_t n, std::uint32_t node) {
  std::vector<SendOver> out;
  for (std::uint32_t i = 0; i < n; ++i)
    out.push_back({(i + 1) % node == 0 ? 3e6 : 1e6, 1e6, n - 1, (i + n - 1) % n, {i}, {1}});
  return out;
}

TEST(SendClasses, OfEqualNodesAreTheEdgesOfOne) {
  const SendClasses c = send_classes(ring_of_nodes(64, 8), std::vector<double>(64, 100));
  EXPECT_EQ(c.first.size(), 8u);
  for (std::uint32_t e = 0; e < 64; ++e) EXPECT_EQ(c.of[e], e % 8);
}

TEST(SendClasses, OfARingWithOneSlowLinkAreAllItsEdges) {
  std::vector<double> capacity(64, 100);
  capacity[5] = 50;
  EXPECT_EQ(send_classes(ring_of_nodes(64, 8), capacity).first.size(), 64u);
}

TEST(SendClasses, TurnedOffAreAllEdges) {
  EXPECT_EQ(send_classes(ring_of_nodes(64, 8), std::vector<double>(64, 100), false).first.size(), 64u);
}

/// What send_classes() promises, checked by comparing all pairs.
void expect_stable(const std::vector<SendOver>& edges, const std::vector<double>& capacity, const SendClasses& c) {
  std::vector<std::map<std::uint32_t, double>> carried(capacity.size());  // per link: the weights by class of edges
  for (std::size_t e = 0; e < edges.size(); ++e)
    for (std::size_t k = 0; k < edges[e].links.size(); ++k) carried[edges[e].links[k]][c.of[e]] += edges[e].weights[k];
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const std::uint32_t mine = c.of[e];
    const SendOver& a = edges[c.first[mine]];
    EXPECT_EQ(std::tuple(edges[e].latency_ps, edges[e].bytes, edges[e].rounds),
              std::tuple(a.latency_ps, a.bytes, a.rounds));
    EXPECT_EQ(c.of[edges[e].previous], c.of[a.previous]);
    for (const std::uint32_t l : edges[e].links) {
      bool found = false;  // a class of links with this capacity that carries what this link does of the edge's class
      for (std::size_t k = 0; k < c.links[mine].size(); ++k)
        found = found || (c.capacity[c.links[mine][k]] == capacity[l] &&
                          std::abs(c.weights[mine][k] - carried[l].at(mine)) < 1e-9);
      EXPECT_TRUE(found) << "edge " << e << ", link " << l;
    }
  }
}

TEST(SendClasses, OfRandomRingsAreStable) {
  RandomStream random(7, "send classes");
  std::size_t folded = 0;
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t node = 2 + static_cast<std::uint32_t>(random.below(4));
    const std::uint32_t n = node * (1 + static_cast<std::uint32_t>(random.below(6)));
    std::vector<double> capacity(n + 3, 100);
    if (random.below(2) == 0) capacity[random.below(n)] = 60;
    std::vector<SendOver> edges = ring_of_nodes(n, node);
    const std::vector<SendOver> back = edges;
    for (SendOver e : back) {  // a second ring, over the same links the other way around
      e.previous = n + e.previous;
      e.links = {n - 1 - e.links[0]};
      edges.push_back(std::move(e));
    }
    for (SendOver& e : edges)
      if (random.below(60) == 0)
        e.links.push_back(n + static_cast<std::uint32_t>(random.below(3))), e.weights.push_back(2);
    const SendClasses c = send_classes(edges, capacity);
    folded += c.first.size() < edges.size() ? 1 : 0;
    expect_stable(edges, capacity, c);
  }
  EXPECT_GT(folded, 50u);
}

}  // namespace
}  // namespace busbar::lowering
