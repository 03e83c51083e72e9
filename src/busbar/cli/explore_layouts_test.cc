#include "busbar/cli/explore_layouts.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace busbar::cli {
namespace {

/// 32 layers, 32 heads, 8 key-value heads: the shape of Llama-3-8B.
workload::ModelSpec model_of_8b() {
  workload::ModelSpec m;
  m.name = "eight";
  m.layers = 32;
  m.hidden = 4096;
  m.heads = 32;
  m.kv_heads = 8;
  m.head_dim = 128;
  m.ffn = 14336;
  m.vocab = 128256;
  return m;
}

workload::LayoutSpec layout_of(std::uint32_t tp, std::uint32_t pp, std::uint32_t batch) {
  workload::LayoutSpec l;
  l.tp = tp;
  l.pp = pp;
  l.batch.global = batch;
  return l;
}

TEST(ExploreLayouts, WhatCanRunStaysAsItIs) {
  const workload::ModelSpec model = model_of_8b();
  const LayoutRoom room{model, 32, 8, Bytes{80'000'000'000}};
  const workload::LayoutSpec l = layout_of(8, 2, 64);
  EXPECT_EQ(layout_values(nearest_layout(room, l, true)), layout_values(l));
}

TEST(ExploreLayouts, TheNearestLayoutCanRunAndFits) {
  const workload::ModelSpec model = model_of_8b();
  for (const std::uint32_t gpus : {1u, 6u, 8u, 36u, 126u, 72u, 256u, 1024u})
    for (const std::uint32_t tp : {1u, 3u, 8u, 16u})
      for (const std::uint32_t pp : {1u, 2u, 7u}) {
        const LayoutRoom room{model, gpus, 8, Bytes{400'000'000'000}};
        const workload::LayoutSpec l = nearest_layout(room, layout_of(tp, pp, 512), true);
        EXPECT_TRUE(can_run(room, l)) << gpus << " " << tp << " " << pp;
        EXPECT_TRUE(fits(room, l)) << gpus << " " << tp << " " << pp;
      }
}

TEST(ExploreLayouts, TheFieldThatWasMovedStaysIfAnyLayoutHasIt) {
  const workload::ModelSpec model = model_of_8b();
  const LayoutRoom room{model, 32, 8, Bytes{80'000'000'000}};
  workload::LayoutSpec l = layout_of(8, 2, 64);
  l.vpp = 16;
  l.pp = 4;  // 16 chunks of 4 stages are more than 32 layers
  EXPECT_EQ(nearest_layout(room, l, false, "pp").pp, 4u);
  EXPECT_EQ(nearest_layout(room, l, false, "vpp").vpp, 16u);
}

TEST(ExploreLayouts, EveryStopCanRun) {
  const workload::ModelSpec model = model_of_8b();
  const LayoutRoom room{model, 72, 72, Bytes{80'000'000'000}};
  const workload::LayoutSpec l = nearest_layout(room, layout_of(8, 2, 512), false);
  const auto stops = legal_stops(room, l);
  for (const std::uint32_t tp : stops.at("tp")) {
    workload::LayoutSpec other = l;
    other.tp = tp;
    EXPECT_TRUE(can_run(room, other)) << tp;
  }
  EXPECT_EQ(stops.at("ep"), std::vector<std::uint32_t>{1});
  EXPECT_TRUE(std::is_sorted(stops.at("pp").begin(), stops.at("pp").end()));
}

}  // namespace
}  // namespace busbar::cli
