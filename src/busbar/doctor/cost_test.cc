#include "busbar/doctor/cost.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace busbar::doctor {
namespace {

class Costs : public testing::Test {
 protected:
  Diagnosis judged(const std::vector<std::string>& texts, const std::string& cluster,
                   const std::vector<std::string>& set = {}, std::optional<collectives::Collective> op = {}) const {
    Evidence evidence;
    for (const std::string& text : texts) {
      formats::LineSource source = formats::LineSource::of_text(text, "file");
      tables_.read(source, evidence);
    }
    Diagnosis out = diagnose(evidence, rules_, tables_);
    FaultCostOptions o;
    o.machine.cluster = cluster;
    o.machine.load = spec::load_cluster;
    o.machine.overrides.set = set;
    o.op_asked = op.has_value();
    o.machine.op = op.value_or(collectives::Collective::kAllReduce);
    EXPECT_TRUE(add_costs(o, out).ok());
    return out;
  }
  static const Finding& first(const Diagnosis& d) { return d.findings.at(0); }

  const spec::Catalog catalog_;
  const FactTables tables_ = FactTables::load(catalog_).value();
  const std::vector<Rule> rules_ = load_rules(catalog_).value();
};

TEST_F(Costs, AreKnownForEveryRuleWithACounterpartOnTwoNodes) {
  std::size_t priced = 0;
  for (const Rule& rule : rules_) {
    if (rule.cost.faults.empty()) continue;
    const Diagnosis d = judged(rule.shows, "dgx-h100:2");
    const auto f =
        std::find_if(d.findings.begin(), d.findings.end(), [&](const Finding& found) { return found.rule == rule.id; });
    ASSERT_NE(f, d.findings.end()) << rule.id;
    EXPECT_TRUE(f->cost_percent.has_value()) << rule.id;
    ++priced;
  }
  EXPECT_GT(priced, 10u);
}

TEST_F(Costs, AreThoseOfTheSamePredictionWithTheSetting) {
  accuracy::ExpectOptions o;
  spec::Cluster cluster = spec::load_cluster("dgx-h100:2", {}).value();
  const auto us = [&](std::vector<std::string> env) {
    o.policy.env = std::move(env);
    const auto machine = accuracy::predictor_on(o, cluster).value();
    return machine
        ->time(predict::call_over(collectives::Collective::kAllReduce, Bytes{1u << 30}, 16), predict::kTimeAlone)
        .value()
        .time.in_us();
  };
  const double ratio = us({"NCCL_ALGO=Ring"}) / us({});
  EXPECT_GT(ratio, 1.1);
  const Diagnosis d = judged({"NCCL_ALGO=Ring\n"}, "dgx-h100:2");
  EXPECT_NEAR(first(d).cost_percent.value(), 100 * (ratio - 1), 1e-9);
}

TEST_F(Costs, OfAThinSpineCountAgainstTheFullOneForTheOperationThatIsAsked) {
  const std::vector<std::string> text{"machine over-subscription: 4\n"}, thin{"fabric.oversubscription=4"};
  const Diagnosis all_to_all = judged(text, "dgx-2:64", thin);
  EXPECT_GT(first(all_to_all).cost_percent.value(), 20);
  EXPECT_NE(first(all_to_all).cost_of.find("all_to_all of 1 GiB"), std::string::npos);
  const Diagnosis asked = judged(text, "dgx-2:64", thin, collectives::Collective::kAllReduce);
  EXPECT_NE(first(asked).cost_of.find("all_reduce of 1 GiB"), std::string::npos);
}

TEST_F(Costs, AreUnknownWhereTheMachineCannotHaveTheFault) {
  EXPECT_FALSE(first(judged({"NCCL_IB_DISABLE=1\n"}, "dgx-h100")).cost_percent) << "one node has no network";
  EXPECT_FALSE(first(judged({"NCCL_DEBUG=NONE\n"}, "dgx-h100:2")).cost_percent) << "no counterpart";
}

TEST_F(Costs, OfVariablesOfNcclAreRefusedWhereItDoesNotRun) {
  const Diagnosis d = judged({"NCCL_ALGO=Ring\n"}, "tpu-v5p");
  EXPECT_FALSE(first(d).cost_percent);
  EXPECT_NE(first(d).cost_of.find("neither NCCL nor RCCL runs on tpu-v5p"), std::string::npos);
}

TEST_F(Costs, NameThePartsOfTheMachineAndWhatRepeatsThePrediction) {
  const auto rule = std::find_if(rules_.begin(), rules_.end(), [](const Rule& r) { return r.id == "port-slow"; });
  ASSERT_NE(rule, rules_.end());
  const Diagnosis d = judged(rule->shows, "dgx-h100:2");
  const Finding& f = first(d);
  EXPECT_EQ(f.selectors.size(), 16u);
  EXPECT_EQ(f.selectors.front(), "node0.nic0-leaf0");
  EXPECT_TRUE(f.flags.starts_with("--degrade 'node1.nic0-leaf0=")) << f.flags;
  EXPECT_EQ(first(judged({"NCCL_ALGO=Ring\n"}, "dgx-h100:2")).flags, "--env NCCL_ALGO=Ring");
}

}  // namespace
}  // namespace busbar::doctor
