#include "busbar/workload/internal/layer_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "busbar/base/random.h"
#include "busbar/workload/test_models.h"

namespace busbar::workload {
namespace {

using Counts = std::vector<std::uint32_t>;

ModelSpec with_layers(std::uint32_t layers) {
  ModelSpec m = llama3_70b();
  m.layers = layers;
  return m;
}

ModelSpec llama_405b(std::uint32_t layers = 126) {
  ModelSpec m = with_layers(layers);
  m.hidden = 16384, m.ffn = 53248, m.heads = 128;
  return m;
}

Counts split_of(const LayoutSpec& l, const ModelSpec& m) {
  auto counts = split_layers(l, m);
  EXPECT_TRUE(counts.ok()) << counts.error().text();
  return counts.ok() ? *counts : Counts{};
}
Counts split_of(const LayoutSpec& l, std::uint32_t layers) { return split_of(l, with_layers(layers)); }

double longest_of(const Counts& counts, double head) {
  return std::max<double>(*std::max_element(counts.begin(), counts.end()), counts.back() + head);
}

/// The shortest longest chunk over all ways to cut `layers`.
double best_of(std::uint32_t layers, std::uint32_t chunks, double head) {
  if (chunks == 1) return layers + head;
  double best = 1e9;
  for (std::uint32_t first = 0; first <= layers; ++first) {
    best = std::min(best, std::max<double>(first, best_of(layers - first, chunks - 1, head)));
  }
  return best;
}

TEST(LayerSplit, MetasCutOf405B) {
  LayoutSpec l;
  l.pp = 16;
  l.batch.seq = 8192;
  Counts whole(16, 8);
  whole.front() = whole.back() = 7;
  EXPECT_EQ(split_of(l, llama_405b()), whole);
  l.split.embedding_as_layer = l.split.head_as_layer = true;
  EXPECT_EQ(split_of(l, llama_405b()), whole);
  l.vpp = 8;  // one layer in each chunk; the first has the embedding alone, the last the head
  Counts single(128, 1);
  single.front() = single.back() = 0;
  EXPECT_EQ(split_of(l, llama_405b()), single);
  l.split.chunk_layers = single;
  EXPECT_EQ(chunk_layers_text(l), "0, 126 x 1, 0");
  l.split.chunk_layers.clear();
  l.pp = 32, l.vpp = 1;
  Counts thirty(32, 1);
  thirty.front() = thirty.back() = 0;
  EXPECT_EQ(split_of(l, llama_405b(30)), thirty);
}

// The longest stage, in layers over speed, is the shortest of all ways to cut 24 layers over three stages.
TEST(LayerSplit, SlowStagesHaveFewerLayers) {
  LayoutSpec l;
  l.pp = 3;
  for (const std::vector<double>& speeds : {std::vector<double>{1, 1, 0.5}, {0.3, 1, 1}, {1, 0.7, 0.9}}) {
    l.stage_speed = speeds;
    const ModelSpec m = with_layers(24);
    const double head = head_in_layers(m, l.batch.seq);
    const auto longest = [&](const Counts& c) {
      return std::max({c[0] / speeds[0], c[1] / speeds[1], (c[2] + head) / speeds[2]});
    };
    double best = 1e9;
    for (std::uint32_t a = 0; a <= 24; ++a)
      for (std::uint32_t b = 1; a + b <= 24; ++b) best = std::min(best, longest({a, b, 24 - a - b}));
    EXPECT_NEAR(longest(split_of(l, m)), best, 1e-9) << speeds[0] << " " << speeds[1];
  }
}

TEST(LayerSplit, LayersThatDivideAreCutEqually) {
  LayoutSpec l;
  l.pp = 4;
  EXPECT_EQ(split_of(l, 80), Counts(4, 20));
  l.split.first_layers = 17;
  EXPECT_EQ(split_of(l, 80), (Counts{17, 21, 21, 21}));
  l.split.last_layers = 21;
  EXPECT_EQ(split_of(l, 80), (Counts{17, 21, 21, 21}));
  l.split.chunk_layers = {10, 30, 30, 10};
  EXPECT_EQ(split_of(l, 80), l.split.chunk_layers);
}

TEST(LayerSplit, OthersAreCutSoThatTheLongestChunkIsShortest) {
  RandomStream random(7, "layer split");
  for (int i = 0; i < 300; ++i) {
    LayoutSpec l;
    l.pp = 2 + static_cast<std::uint32_t>(random.below(4));
    l.batch.seq = 1024u << random.below(6);
    l.split.balanced = true;
    const std::uint32_t layers = l.pp + static_cast<std::uint32_t>(random.below(12));
    const Counts counts = split_of(l, layers);
    ASSERT_EQ(std::accumulate(counts.begin(), counts.end(), 0u), layers);
    const double head = head_in_layers(with_layers(layers), l.batch.seq);
    EXPECT_NEAR(longest_of(counts, head), best_of(layers, l.pp, head), 1e-9) << layers << " over " << l.pp;
    for (std::size_t c = 1; c < counts.size(); ++c) EXPECT_LE(counts[0], counts[c] + (c + 1 == counts.size() ? 9 : 0));
  }
}

TEST(LayerSplit, TheHeadCountsByItsForwardWork) {
  // Two multiply-adds per element of the head, and per element of each matrix of a layer, and the causal scores.
  const ModelSpec m = llama3_70b();
  const LayerKind kind = layer_table(m).kinds[0];
  const std::uint64_t parameters = mixer_parameters(kind.mixer, m.hidden) + mlp_parameters(m, kind.ffn);
  const double layer = 2.0 * static_cast<double>(parameters) + 2.0 * 4096 * m.heads * m.head_dim;
  EXPECT_NEAR(head_in_layers(m, 4096), 2.0 * m.hidden * m.vocab / layer, 1e-9);
}

}  // namespace
}  // namespace busbar::workload
