#include "busbar/predict/predict_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/predict/launch.h"

namespace busbar::predict {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string refused_option(const PredictOptions& o) {
  PredictPolicy policy;
  return read_predict_options(o, spec::Catalog(), policy).error().text();
}

TEST(PredictOptions, WriteOnlyTheGivenOptions) {
  PredictPolicy policy;
  const PredictPolicy before;
  ASSERT_TRUE(read_predict_options({}, spec::Catalog(), policy).ok());
  EXPECT_EQ(policy.nccl, before.nccl);
  EXPECT_FALSE(policy.launch);
  EXPECT_EQ(policy.shortcuts.on, before.shortcuts.on);
  const PredictOptions all{.env = {"NCCL_PROTO=LL"}, .nccl = "2.27", .launch = "graph"};
  ASSERT_TRUE(read_predict_options(all, spec::Catalog(), policy).ok());
  EXPECT_THAT(policy.env, ElementsAre("NCCL_PROTO=LL"));
  EXPECT_EQ(nccl::to_string(policy.nccl), "2.27");
  EXPECT_EQ(*policy.launch, launch_time("graph", spec::Catalog())->before);
  EXPECT_EQ(policy.host_per_gpu, Duration());
}

TEST(PredictOptions, NameTheFlagThatIsWrong) {
  EXPECT_THAT(refused_option({.env = {"NCCL_PROTO=XX"}}), StartsWith("--env: "));
  EXPECT_THAT(refused_option({.nccl = "1"}), StartsWith("--nccl: "));
  EXPECT_THAT(refused_option({.launch = "never"}), StartsWith("--launch: "));
  EXPECT_THAT(refused_option({.shortcuts_off = "folds"}), HasSubstr("--shortcuts-off: 'folds'"));
  EXPECT_THAT(refused_option({.shortcuts_off = "bundles,bundles"}), HasSubstr("'bundles'"));
}

TEST(PredictOptions, TurnOffTheShortcutsNamed) {
  PredictPolicy policy;
  ASSERT_TRUE(read_predict_options({.shortcuts_off = "call-images,bundles"}, spec::Catalog(), policy).ok());
  for (std::uint32_t i = 0; i < kShortcutCount; ++i) {
    const auto s = static_cast<Shortcut>(i);
    EXPECT_EQ(policy.shortcuts.has(s), s != Shortcut::kCallImages && s != Shortcut::kBundles) << name_of(s);
  }
  for (std::uint32_t i = 0; i < kShortcutCount; ++i) {
    const auto s = static_cast<Shortcut>(i);
    std::string name = name_of(s);
    std::replace(name.begin(), name.end(), ' ', '-');
    policy = {};
    ASSERT_TRUE(read_predict_options({.shortcuts_off = name}, spec::Catalog(), policy).ok()) << name;
    EXPECT_EQ(policy.shortcuts.on, Shortcuts{}.without({s}).on) << name;
  }
  ASSERT_TRUE(read_predict_options({.shortcuts_off = "all"}, spec::Catalog(), policy).ok());
  EXPECT_EQ(policy.shortcuts.on, 0u);
}

TEST(Launch, ModesEqualTheCatalogue) {
  EXPECT_THAT(launch_modes(), ElementsAre("graph", "loop", "process", "unknown"));
  for (const std::string& mode : launch_modes())
    EXPECT_GE(launch_time(mode, spec::Catalog())->before, Duration()) << mode;
  EXPECT_LT(launch_time("graph", spec::Catalog())->before, launch_time("loop", spec::Catalog())->before);
  EXPECT_GT(launch_time("loop", spec::Catalog())->per_gpu, Duration());
  EXPECT_EQ(launch_time("process", spec::Catalog())->per_gpu, Duration());
  EXPECT_EQ(launch_mode("single-process-multi-gpu"), "loop");
  EXPECT_EQ(launch_mode("one-process-per-gpu"), "process");
  EXPECT_EQ(launch_mode("graph"), "graph");
  EXPECT_EQ(launch_mode("else"), "unknown");
}

TEST(Launch, FrameworksStartEveryGpuByAProcessOfItsOwnOrAsAGraph) {
  const spec::Cluster h100 = spec::load_cluster("dgx-h100").value(), mi300 = spec::load_cluster("mi300x-8").value();
  for (const spec::Cluster* c : {&h100, &mi300}) {
    EXPECT_EQ(launch_of_framework(*c, false), "process");
    EXPECT_EQ(launch_of_framework(*c, true), "graph");
  }
  EXPECT_EQ(launch_of_framework(spec::load_cluster("tpu-v4").value(), true), "");
}

}  // namespace
}  // namespace busbar::predict
