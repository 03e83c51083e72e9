#include "busbar/questions/compare_run.h"

#include <gtest/gtest.h>

#include "busbar/base/quantity.h"
#include "busbar/predict/penalties.h"
#include "busbar/spec/cluster.h"
#include "busbar/spec/fabric_words.h"
#include "busbar/spec/reading.h"

namespace busbar::questions {
namespace {

const BytesPerSecond k400 = *parse_rate("400Gb/s");

TEST(CompareFabrics, WordsRatiosAndPresetsAreRead) {
  const auto words = spec::read_fabric_words("roce,4:1,fat-tree-2.5:1,xdr-rail", k400, spec::Catalog());
  ASSERT_TRUE(words.ok()) << words.error().text();
  ASSERT_EQ(words->size(), 4u);
  EXPECT_EQ((*words)[0].settings(), std::vector<std::string>{"fabric=roce-400g-rail"});
  EXPECT_EQ((*words)[1].settings(), std::vector<std::string>{"fabric.oversubscription=4"});
  EXPECT_EQ((*words)[2].settings(), (std::vector<std::string>{"fabric=ndr-fat-tree", "fabric.oversubscription=2.5"}));
  EXPECT_EQ((*words)[3].settings(), std::vector<std::string>{"fabric=xdr-rail"});
}

TEST(CompareFabrics, WhatDoesNotExistIsNamed) {
  for (const char* bad : {"", "rocket", "0:1", "fat-tree-:1", "photonics", "ib,,roce"}) {
    const auto words = spec::read_fabric_words(bad, k400, spec::Catalog());
    ASSERT_FALSE(words.ok()) << bad;
    EXPECT_EQ(words.error().where.path, "fabrics") << bad;
  }
}

// The rate that chooses a preset is that of its ports, and its penalties exist.
TEST(CompareFabrics, EveryPresetOfEveryWordHasPortsOfItsRateAndItsPenaltiesExist) {
  const spec::Catalog catalog;
  const auto document = catalog.load("comparisons", "fabrics");
  ASSERT_TRUE(document.ok());
  const YamlNode words = *document->root().find("words");
  for (std::size_t w = 0; w < words.size(); ++w) {
    const YamlNode fabrics = *words.item(w).find("fabrics");
    for (std::size_t i = 0; i < fabrics.size(); ++i) {
      const BytesPerSecond rate = *parse_rate(fabrics.key(i));
      const auto read = spec::read_fabric_words(words.key(w), rate, catalog);
      ASSERT_TRUE(read.ok()) << read.error().text();
      const spec::FabricWord& f = read->front();
      const auto machine = spec::load_cluster("{node: dgx-h100, nodes: 2, fabric: " + f.preset + "}");
      ASSERT_TRUE(machine.ok()) << machine.error().text();
      EXPECT_EQ(spec::port_rate(machine->topology), rate) << f.preset;
      EXPECT_TRUE(f.transport.empty() ||
                  predict::load_call_penalty(f.transport, predict::balance_of(*machine), 1, "").ok())
          << words.key(w);
    }
  }
}

TEST(CompareRun, ARowIsTheStepThatTrainPredictsWithItsLayout) {
  CompareAsk ask;
  ask.machines = {"dgx-h100:2"};
  ask.input.flags.model = "llama3-8b";
  ask.input.flags.degrees.global_batch = 64;
  const auto rows = run_compare(ask, {});
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  const CompareRow& row = rows->front();
  EXPECT_TRUE(row.planned);
  spec::Scenario scenario = row.variant.step.scenario;
  scenario.layout = row.run.layout;
  const auto step = step::predict(scenario, ask.train);
  ASSERT_TRUE(step.ok()) << step.error().text();
  EXPECT_EQ(row.run.step.step_time, step->step.step_time);
  EXPECT_EQ(likeness(row, row), Likeness::kEqual);  // no penalties are known
}

TEST(CompareRun, ARangeHoldsTheStepsOfTrainWithTheTransport) {
  CompareAsk ask;
  ask.machines = {"dgx-h100:8"};
  ask.fabrics = "spectrum-x";
  ask.input.flags.model = "llama3-8b";
  ask.input.flags.degrees.tp = 1;
  ask.input.flags.degrees.global_batch = 64;
  const auto rows = run_compare(ask, {});
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  const CompareRow& row = rows->front();
  spec::Scenario scenario = row.variant.step.scenario;
  scenario.layout = row.run.layout;
  ask.train.transport = "dcqcn";
  const auto slowed = step::predict(scenario, ask.train);
  ASSERT_TRUE(slowed.ok()) << slowed.error().text();
  EXPECT_EQ(slowed->machine->policy().penalty->balance, row.transport.penalty->balance);
  EXPECT_LT(row.transport.low_s, row.transport.high_s);
  EXPECT_EQ(row.transport.low_s, row.run.step.step_time.in_s());
  EXPECT_EQ(row.transport.high_s, slowed->p99.in_s());
}

// 128 servers are two leaves of each rail, and two pipeline stages lie on one leaf each: all their transfers cross.
TEST(CompareRun, UntunedPacketsTakeLongerThanTunedOnesForThreeCausesThatAddUp) {
  CompareAsk ask;
  ask.machines = {"dgx-h100:128"};
  ask.fabrics = "roce,roce-untuned";
  ask.input.flags.model = "llama3-8b";
  ask.input.flags.degrees.tp = 8;
  ask.input.flags.degrees.pp = 2;
  ask.input.flags.degrees.global_batch = 256;
  ask.input.overrides.set = {"layout.rank_order=tp-dp-cp-pp"};
  const auto rows = run_compare(ask, {});
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  const CompareRow &tuned = rows->at(0), &untuned = rows->at(1);
  ASSERT_TRUE(tuned.packets && untuned.packets);
  EXPECT_TRUE(tuned.packets->causes.empty());
  EXPECT_GT(untuned.run.step.step_time, tuned.run.step.step_time);
  EXPECT_EQ(untuned.packets->tuned_s, tuned.run.step.step_time.in_s());
  EXPECT_GE(tuned.run.step.step_time.in_s(), tuned.packets->even_s);
  ASSERT_EQ(untuned.packets->causes.size(), 3u);
  double added = 0, shares = 0;
  for (const PacketCauseResult& c : untuned.packets->causes) {
    EXPECT_GE(c.added_s, 0) << c.cause;
    added += c.added_s;
    shares += c.share_percent;
  }
  EXPECT_NEAR(added, untuned.run.step.step_time.in_s() - untuned.packets->tuned_s, 1e-9);
  EXPECT_NEAR(shares, 100, 1e-9);
  EXPECT_LE(untuned.transport.low_s, untuned.run.step.step_time.in_s());
  EXPECT_GE(untuned.transport.high_s, untuned.run.step.step_time.in_s());
  EXPECT_NE(likeness(tuned, untuned), Likeness::kEqual);
}

TEST(CompareRun, LettersGoOnAfterZ) {
  EXPECT_EQ(letter_of(0), "A");
  EXPECT_EQ(letter_of(25), "Z");
  EXPECT_EQ(letter_of(26), "AA");
  EXPECT_EQ(letter_of(27), "AB");
}

}  // namespace
}  // namespace busbar::questions
