#include "busbar/spec/scenario.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "busbar/spec/clock_curve.h"
#include "busbar/spec/framework.h"
#include "busbar/spec/kernels_file.h"
#include "busbar/spec/model_file.h"

namespace busbar::spec {
namespace {

TEST(ModelFile, EveryCatalogueModelHasItsPublishedSize) {
  const Catalog catalog;
  const std::pair<const char*, double> sizes[] = {{"llama3-70b", 70.55e9},
                                                  {"llama3-8b", 8.03e9},
                                                  {"gpt3-175b", 174.6e9},
                                                  {"nemotron4-15b", 15.6e9},
                                                  {"nemotron4-340b", 341e9}};
  for (const auto& [name, parameters] : sizes) {
    const auto document = catalog.load("models", name);
    ASSERT_TRUE(document.ok()) << document.error().text();
    const auto model = read_model(document->root());
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_FALSE(model->source.empty()) << name;
    EXPECT_NEAR(static_cast<double>(workload::parameter_count(*model)), parameters, 0.005 * parameters) << name;
  }
}

// Published sizes, with all experts and with those that one token uses.
TEST(ModelFile, ModelsWithExpertsHaveTheirPublishedSizes) {
  const struct {
    const char* name;
    double all, active;
  } sizes[] = {
      {"mixtral-8x7b", 46.7e9, 12.9e9},   {"mixtral-8x22b", 140.6e9, 39.1e9},  {"deepseek-v3", 671e9, 37.5e9},
      {"qwen3-30b-a3b", 30.5e9, 3.35e9},  {"qwen3-235b-a22b", 235e9, 22.2e9},  {"grok-1", 315.7e9, 83.9e9},
      {"kimi-k2", 1026e9, 32.9e9},        {"gpt-oss-120b", 116.83e9, 5.71e9},  {"gpt-oss-20b", 20.91e9, 4.19e9},
      {"llama4-scout", 107.8e9, 17.17e9}, {"llama4-maverick", 400.7e9, 17.2e9}};
  for (const auto& s : sizes) {
    auto model = read_model(Catalog().load("models", s.name).value().root());
    ASSERT_TRUE(model.ok()) << model.error().text();
    model->mtp = 0;  // published sizes leave it out
    EXPECT_NEAR(static_cast<double>(workload::parameter_count(*model)), s.all, 0.005 * s.all) << s.name;
    EXPECT_NEAR(static_cast<double>(workload::active_parameter_count(*model)), s.active, 0.01 * s.active) << s.name;
  }
}

TEST(ModelFile, ExpertsThatCannotBeAreRefusedAtTheirPlace) {
  const std::string dense =
      "name: m\nlayers: 4\nhidden: 64\nffn: 128\nheads: 4\nkv_heads: 4\nhead_dim: 16\nmlp: gated\nvocab: 100\n";
  const std::pair<const char*, const char*> cases[] = {
      {"moe: {experts: 8, per_token: 9, ffn: 64}\n", "m.yaml:10:6: moe: a token cannot meet 9 of 8 experts"},
      {"moe: {experts: 8, ffn: 64}\n", "per_token"},
      {"moe: {experts: 8, per_token: 2, ffn: 64, dense_layers: 4}\n", "leave none with experts"},
      {"moe: {experts: 8, per_token: 2, ffn: 64, shard: 1}\n", "did you mean 'shared'?"},
      {"moe: 8\n", "m.yaml:10:6"},
      {"latent_attention: {q_rank: 8}\n", "kv_rank"}};
  for (const auto& [text, wanted] : cases) {
    const auto model = read_model(YamlDocument::parse(dense + text, "m.yaml").value().root());
    ASSERT_FALSE(model.ok()) << text;
    EXPECT_NE(model.error().text().find(wanted), std::string::npos) << model.error().text();
  }
}

TEST(KernelsFile, EveryGpuWithAPeakCanBeTimed) {
  const Catalog catalog;
  for (const std::string& part : catalog.names("gpus")) {
    const YamlDocument document = catalog.load("gpus", part).value();
    const auto peaks = document.root().find("peak");
    if (!peaks || (!peaks->find("bf16") && !peaks->find("fp16"))) continue;
    const auto table = load_kernels(part, catalog);
    ASSERT_TRUE(table.ok()) << part << ": " << table.error().text();
    EXPECT_GE(table->sources.size(), 11u) << part;
    for (const std::string& line : table->sources) EXPECT_NE(line.find(": "), std::string::npos) << line;
    EXPECT_LE(table->bf16.best_share, 1) << part;
    EXPECT_GE(table->attention_forward.size(), 2u) << part;
    EXPECT_GE(table->attention_backward.size(), 2u) << part;
    EXPECT_GT(table->memory_share * table->memory_bytes_per_s, 0) << part;
  }
}

// Values that are not measured have a wider band.
TEST(KernelsFile, LessMeasuredGpusHaveWiderBandsAndAtMostTwoFreeConstants) {
  const std::pair<const char*, double> narrowest[] = {
      {"v100-sxm", 30}, {"a100-sxm-80", 10}, {"h100-sxm", 10},  {"h200-sxm", 10},  {"b200-sxm", 10}, {"gb200", 10},
      {"mi300x", 30},   {"tpu-v5e", 30},     {"h100-pcie", 15}, {"b300-sxm", 15},  {"gb300", 15},    {"tpu7x", 30},
      {"gaudi3", 30},   {"trainium2", 40},   {"mi355x", 30},    {"mi250x-gcd", 40}};
  for (const auto& [part, band] : narrowest) {
    const auto table = load_kernels(part, Catalog());
    ASSERT_TRUE(table.ok()) << part;
    EXPECT_LE(table->band_low_percent, -band) << part;
    EXPECT_GE(table->band_high_percent, band) << part;
    EXPECT_LE(std::count_if(table->sources.begin(), table->sources.end(),
                            [](const std::string& s) { return s.find("free constant") != std::string::npos; }),
              2)
        << part;
  }
}

// Constants that are set on measured steps: one per generation of GPUs, one per framework, none in the tables of GPUs.
TEST(KernelsFile, FreeConstantsAreFewAndInTwoFolders) {
  const Catalog catalog;
  const auto count = [&](const char* folder, const std::string& name) {
    const std::string text = catalog.load(folder, name).value().text();
    int found = 0;
    for (std::size_t at = text.find("free constant"); at != text.npos; at = text.find("free constant", at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(catalog.names("clocks").size(), 3u);
  for (const std::string& name : catalog.names("clocks")) EXPECT_EQ(count("clocks", name), 1) << name;
  EXPECT_LE(catalog.names("frameworks").size(), 12u);
  for (const std::string& name : catalog.names("frameworks"))
    EXPECT_EQ(count("frameworks", name), name == "nemo" || name == "primus" ? 0 : 1) << name;
  for (const std::string& name : catalog.names("kernels"))
    EXPECT_EQ(count("kernels", name), name == "tpu-v5e" ? 1 : 0) << name;
}

TEST(KernelsFile, ATableTakesFromAnotherWhatItLacksAndFromThePartWhatItIs) {
  const Catalog catalog;
  const workload::KernelTable h100 = load_kernels("h100-sxm", catalog).value(),
                              h800 = load_kernels("h800-sxm", catalog).value(),
                              capped = load_kernels("h100-sxm-96", catalog).value();
  EXPECT_EQ(h800.bf16.best_share, h100.bf16.best_share);
  EXPECT_EQ(h800.cores, h100.cores);
  EXPECT_EQ(capped.memory_bytes_per_s, 2.4e12) << "HBM2e";
  EXPECT_LT(capped.bf16.sustained_share, 0.9 * h100.bf16.sustained_share) << "500 W";
}

TEST(ClockCurve, FallsWithThePowerLimitAndMoreForNarrowProducts) {
  const ClockCurve c{.base_watts = 200, .exponent = 0.5, .held_share = 0.8, .narrow_share = 0.9};
  EXPECT_NEAR(c.share(700, 700, false), 0.8, 1e-12);
  EXPECT_NEAR(c.share(325, 700, false), 0.4, 1e-12);
  EXPECT_NEAR(c.share(325, 700, true), 0.36, 1e-12);
  EXPECT_EQ(c.share(2000, 700, false), 1) << "no more than the burst's";
  EXPECT_GT(c.share(100, 700, false), 0) << "the lowest clock";
}

// The rate at 500 of 700 W: 0.80 to 0.87 by the range of the exponent. Source: clock_curve.h.
TEST(ClockCurve, OfHopperHasTheSlopeOfItsPower) {
  std::vector<std::string> sources;
  const ClockCurve c = ClockCurve::load("hopper", Catalog(), sources).value();
  EXPECT_NEAR(c.share(500, 700, false) / c.share(700, 700, false), 0.835, 0.035);
  EXPECT_EQ(sources.size(), 4u);
}

// Bursts of one chip under two limits: B200 at 1000 W and GB200 at 1200 W, B300 at 1100 W and GB300 at 1400 W.
TEST(ClockCurve, OfBlackwellJoinsItsPublishedRates) {
  std::vector<std::string> sources;
  const ClockCurve c = ClockCurve::load("blackwell", Catalog(), sources).value();
  EXPECT_NEAR(c.share(1000, 1200, false) / c.held_share, 1716.0 / 1929, 0.03);
  EXPECT_NEAR(c.share(1100, 1400, false) / c.held_share, 1878.0 / 2107, 0.03);
}

TEST(KernelsFile, MemoryFollowsTheClustersOwn) {
  const auto table = [](const char* rate) {
    Overrides overrides;
    overrides.gpu_memory_rate = rate;
    return load_kernels(load_cluster("dgx-h100", overrides).value(), Catalog()).value();
  };
  const workload::KernelTable built = load_kernels("h100-sxm", Catalog()).value(), same = table("3.35TB/s"),
                              half = table("1.675TB/s");
  EXPECT_EQ(same.memory_bytes_per_s, built.memory_bytes_per_s);
  EXPECT_EQ(same.sources, built.sources);
  EXPECT_DOUBLE_EQ(half.memory_bytes_per_s, built.memory_bytes_per_s / 2);
  EXPECT_EQ(half.sources.size(), built.sources.size() + 1) << "with its reason";
  EXPECT_NEAR(half.memory_time(1e9).in_s(), 2 * built.memory_time(1e9).in_s(), 1e-9);
}

TEST(KernelsFile, AFigureWithoutSourceIsRefused) {
  const auto document = YamlDocument::parse("name: x\nbf16: {best_share: 0.8}\n", "x.yaml");
  ASSERT_TRUE(document.ok());
  const auto part = YamlDocument::parse("{memory_rate: 1TB/s, power: 1W, peak: {bf16: 989TFLOP/s}}", "part.yaml");
  const auto table = read_kernels(*document, part->root(), Catalog());
  ASSERT_FALSE(table.ok());
  EXPECT_NE(table.error().text().find("source"), std::string::npos) << table.error().text();
}

TEST(KernelsFile, AnUnknownGpuIsRefusedWithTheKnownOnes) {
  const auto table = load_kernels("k80", Catalog());
  ASSERT_FALSE(table.ok());
  EXPECT_NE(table.error().text().find("h100-sxm"), std::string::npos) << table.error().text();
}

TEST(Scenario, TheMainJobsReadAsTheyAreMeant) {
  const Catalog catalog;
  const auto flat = load_scenario("examples/llama3-70b-512xh100.yaml", {}, {}, catalog);
  ASSERT_TRUE(flat.ok()) << flat.error().text();
  EXPECT_EQ(flat->cluster, "dgx-h100:64");
  const auto layout = workload::resolve_layout(flat->layout, flat->model, 512);
  ASSERT_TRUE(layout.ok()) << layout.error().text();
  EXPECT_EQ(layout->micro_batches(), 16u);
  const auto piped = load_scenario("examples/llama3-70b-512xh100-pp4.yaml", {}, {}, catalog);
  ASSERT_TRUE(piped.ok()) << piped.error().text();
  const auto piped_layout = workload::resolve_layout(piped->layout, piped->model, 512);
  ASSERT_TRUE(piped_layout.ok()) << piped_layout.error().text();
  EXPECT_EQ(piped_layout->micro_batches(), 64u);
  EXPECT_EQ(piped_layout->vpp, 5u);
}

TEST(Scenario, FlagsAndSettingsWinOverTheFile) {
  ScenarioFlags flags;
  flags.degrees.tp = 4;
  flags.cluster = "dgx-h100:32";
  Overrides overrides;
  overrides.set = {"layout.seq=8192", "model.layers=40", "cluster.fabric.rate=200Gb/s"};
  const auto s = load_scenario("examples/llama3-70b-512xh100.yaml", flags, overrides, Catalog());
  ASSERT_TRUE(s.ok()) << s.error().text();
  EXPECT_EQ(s->layout.tp, 4u);
  EXPECT_EQ(s->layout.batch.seq, 8192u);
  EXPECT_EQ(s->model.layers, 40u);
  EXPECT_EQ(s->cluster, "dgx-h100:32");
  EXPECT_EQ(s->cluster_overrides.set, std::vector<std::string>{"fabric.rate=200Gb/s"});
  EXPECT_EQ(s->layout.place("tp").path, "--tp");
}

TEST(Scenario, KeysOfTheClusterNeedNoPrefix) {
  Overrides overrides;
  overrides.set = {"fabric.rate=200Gb/s", "devices[gpu].count=4", "cluster.nodes=2", "layout.pp=2"};
  const auto s = load_scenario("examples/llama3-70b-512xh100.yaml", {}, overrides, Catalog());
  ASSERT_TRUE(s.ok()) << s.error().text();
  EXPECT_EQ(s->cluster_overrides.set,
            (std::vector<std::string>{"fabric.rate=200Gb/s", "node.devices[gpu].count=4", "nodes=2"}));
  EXPECT_EQ(s->layout.pp, 2u);
  overrides.set = {"pp=2"};
  const auto wrong = load_scenario("examples/llama3-70b-512xh100.yaml", {}, overrides, Catalog());
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().text(), "--set: 'pp=2' is not a key of a cluster; write model.pp=2 or layout.pp=2");
  overrides.set = {"cluster=dgx-h100:4"};
  EXPECT_EQ(load_scenario("examples/llama3-70b-512xh100.yaml", {}, overrides, Catalog()).error().text(),
            "--set: 'cluster=dgx-h100:4' changes no key; write --cluster dgx-h100:4");
}

TEST(Scenario, AllFromFlags) {
  ScenarioFlags flags;
  flags.cluster = "dgx-h100";
  flags.model = "llama3-8b";
  flags.degrees.tp = 8;
  const auto s = scenario_from_flags(flags, {}, Catalog());
  ASSERT_TRUE(s.ok()) << s.error().text();
  EXPECT_EQ(s->model.hidden, 4096u);
  flags.model.clear();
  EXPECT_FALSE(scenario_from_flags(flags, {}, Catalog()).ok());
}

TEST(Scenario, LayoutKeysOfWiderStepsAreRead) {
  const auto document = YamlDocument::parse(
      "{zero: 3, shard_group: 8, prefetch: false, reshard: false, accumulate_gradients: true, recompute: full, "
      "recompute_layers: 2, cp: 2, "
      "context: "
      "all_gather, attention: flash1, rank_order: tp-cp-pp-dp, precision: fp8, schedule: gpipe, first_layers: 3, "
      "straggler: {speed: 0.9, stage: 1}, offload: {activations: true}, cuda_graphs: true, parameter_bytes: 1, "
      "kernel_time: 1.5, overlap: {tp_backward: false}}",
      "job.yaml");
  const auto l = read_layout(document->root());
  ASSERT_TRUE(l.ok()) << l.error().text();
  EXPECT_EQ(l->sharding.zero, 3u);
  EXPECT_EQ(l->sharding.group, 8u);
  EXPECT_FALSE(l->sharding.prefetch || l->sharding.reshard);
  EXPECT_TRUE(l->sharding.accumulate_gradients);
  EXPECT_EQ(l->straggler.speed, 0.9);
  EXPECT_EQ(l->straggler.stage, 1u);
  EXPECT_EQ(l->kernel_time, 1.5);
  EXPECT_FALSE(l->overlap.tp_backward);
  EXPECT_EQ(l->recomputation.kind, workload::Recompute::kFull);
  EXPECT_EQ(l->recomputation.layers, 2u);
  EXPECT_EQ(l->cp, 2u);
  EXPECT_EQ(l->context, workload::ContextParallel::kAllGather);
  EXPECT_EQ(l->attention, workload::AttentionKernel::kFlash1);
  EXPECT_EQ(l->rank_order, workload::kTpCpPpDp);
  EXPECT_EQ(l->precision, workload::Precision::kFp8);
  EXPECT_EQ(l->schedule, workload::PipelineSchedule::kGPipe);
  EXPECT_EQ(l->split.first_layers, 3u);
  EXPECT_TRUE(l->offload.activations && l->cuda_graphs);
  EXPECT_EQ(l->exchange.parameter_bytes, 1u);
}

TEST(Scenario, AFrameworkSetsOnlyWhatIsNotGiven) {
  ScenarioFlags flags;
  flags.cluster = "dgx-h100:8";
  flags.model = "llama3-8b";
  flags.framework = "maxtext";
  const auto of = [&](std::vector<std::string> set) {
    Overrides o;
    o.set = std::move(set);
    return scenario_from_flags(flags, o, Catalog()).value();
  };
  const Scenario plain = of({}), given = of({"layout.recompute=none", "layout.kernel_time=1.5", "layout.pp=2"});
  EXPECT_TRUE(plain.layout.recomputation.choose);
  EXPECT_EQ(plain.layout.exchange.gradient_bytes, 2u);
  EXPECT_EQ(plain.layout.kernel_time, 1.02);
  EXPECT_EQ(plain.framework_sets, "recompute auto, early_stop true, loss fused, gradient_bytes 2, kernel_time 1.02");
  EXPECT_EQ(given.layout.recomputation.kind, workload::Recompute::kNone);
  EXPECT_EQ(given.layout.kernel_time, 1.5);
  EXPECT_EQ(given.layout.pp, 2u);
  EXPECT_FALSE(given.layout.recomputation.choose);
  EXPECT_EQ(given.framework_sets, "early_stop true, loss fused, gradient_bytes 2");
  flags.framework = "nemo";
  EXPECT_EQ(of({"layout.framework=maxtext"}).framework, "nemo") << "the flag overrides";
  flags.framework.clear();
  EXPECT_EQ(of({"layout.framework=maxtext"}).framework_sets, plain.framework_sets);
}

// User buffers of Transformer Engine overlap what sequence parallelism gathers and scatters, and need it.
TEST(Scenario, NemoOverlapsTensorParallelismOnlyWithSequenceParallelism) {
  ScenarioFlags flags;
  flags.cluster = "dgx-h100";
  flags.model = "llama3-70b";
  flags.framework = "nemo";
  flags.degrees.tp = 8;
  const auto of = [&](const std::string& sequence_parallel) {
    Overrides o;
    o.set = {"layout.sequence_parallel=" + sequence_parallel};
    return scenario_from_flags(flags, o, Catalog()).value().layout.overlap.tp;
  };
  EXPECT_TRUE(of("true"));
  EXPECT_FALSE(of("false"));
}

// What a framework does is in catalog/frameworks; here by a file of its own, so that products do not matter.
class FrameworkFile : public testing::Test {
 protected:
  static constexpr const char* kText = R"(name: mine
aliases: [my-own, "my.own"]
releases: {names: ["3.0", "24.04", "24.10"], source: x}
kernel_time: {value: 0.9, release: "24.04", fall_per_year: 0.2, source: x}
defaults:
  - {layout: {attention: flash1, recompute: none}, source: x}
  - {when: {pp: ">1", precision: fp16, release: "<24.04"}, layout: {attention: unfused}, source: x}
terms:
  - {when: {recompute: selective}, layout: {recompute: full, recompute_every: 2}, source: x}
recipes:
  - {when: {model: Llama_3, gpu: [B200, H100], from: "24.04"}, layout: {loss: fused, tp: 2}, source: x}
  - {when: {model: llama3}, layout: {loss: torch}, source: x}
)";
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) / ("busbar_frameworks." + std::to_string(getpid()));
    std::filesystem::create_directories(directory_ / "frameworks");
    std::ofstream(directory_ / "frameworks" / "mine.yaml") << kText;
  }
  Result<Scenario> read(const std::string& framework, std::vector<std::string> set, const std::string& recipe = "") {
    ScenarioFlags flags;
    flags.cluster = "dgx-h100:8";
    flags.model = "llama3-8b";
    flags.framework = framework;
    flags.recipe = recipe;
    Overrides o;
    o.set = std::move(set);
    o.catalog = directory_.string();
    return scenario_from_flags(flags, o, Catalog(o.catalog));
  }
  std::filesystem::path directory_;
};

TEST_F(FrameworkFile, EntriesHoldWhenAllTheirConditionsDo) {
  const std::vector<std::string> old{"layout.pp=2", "layout.precision=fp16"};
  EXPECT_EQ(read("mine:3.0", old)->layout.attention, workload::AttentionKernel::kUnfused);
  EXPECT_EQ(read("mine:3.0", {"layout.pp=2"})->layout.attention, workload::AttentionKernel::kFlash1) << "bf16";
  EXPECT_EQ(read("mine:3.0", {"layout.precision=fp16"})->layout.attention, workload::AttentionKernel::kFlash1)
      << "one stage";
  EXPECT_EQ(read("mine:24.04", old)->layout.attention, workload::AttentionKernel::kFlash1);
  EXPECT_EQ(read("mine", old)->layout.attention, workload::AttentionKernel::kFlash1) << "the newest release";
}

TEST_F(FrameworkFile, ReleasesAreInTheOrderOfTheFileAndOthersAmongThemByNumber) {
  EXPECT_EQ(read("my-own", {})->framework_release, "24.10");
  EXPECT_EQ(read("my.own:24.05", {})->framework, "mine");
  EXPECT_EQ(read("mine:24.05", {})->layout.loss, workload::LossKernel::kFused) << "after 24.04";
  EXPECT_EQ(read("mine:23.12", {})->layout.loss, workload::LossKernel::kTorch) << "before it";
  EXPECT_NEAR(read("mine:24.04", {})->layout.kernel_time, 0.9, 1e-12);
  EXPECT_NEAR(read("mine:25.04", {})->layout.kernel_time, 0.9 * std::exp(-0.2), 1e-12);
  EXPECT_NE(read("mine:new", {}).error().text().find("3.0, 24.04, 24.10"), std::string::npos);
}

TEST_F(FrameworkFile, TheFirstRecipeThatFitsCountsUnlessItIsSwitchedOffOrAKeyIsGiven) {
  EXPECT_EQ(read("mine", {})->layout.tp, 2u);
  EXPECT_EQ(read("mine", {"layout.tp=4"})->layout.tp, 4u);
  EXPECT_EQ(read("mine", {}, "none")->layout.loss, workload::LossKernel::kVocabParallel);
  EXPECT_EQ(read("mine", {"layout.recipe=none"})->layout.tp, 1u);
  EXPECT_NE(read("", {}, "none").error().text().find("--recipe"), std::string::npos);
}

TEST_F(FrameworkFile, AWordOfTheUserMeansWhatItMeansInTheFramework) {
  const Scenario s = read("mine", {"layout.recompute=selective"}).value();
  EXPECT_EQ(s.layout.recomputation.kind, workload::Recompute::kFull);
  EXPECT_EQ(s.layout.recomputation.every, 2u);
  EXPECT_EQ(workload::resolve_layout(s.layout, s.model, 64)->recomputation.layers, s.model.layers / 2);
}

TEST_F(FrameworkFile, UnknownNamesListAllThatAreKnown) {
  const std::string text = read("minne", {}).error().text();
  for (const std::string& name : framework_names(Catalog(directory_.string())))
    EXPECT_NE(text.find(name), std::string::npos) << name;
}

TEST(ModelFile, TextOfAModelReadsBackAsTheSameModel) {
  const Catalog catalog;
  for (const std::string& name : catalog.names("models")) {
    const workload::ModelSpec m = read_model(catalog.load("models", name)->root()).value();
    const workload::ModelSpec back = read_model(YamlDocument::parse(model_text(m), "{...}")->root()).value();
    EXPECT_EQ(model_text(back), model_text(m));
    EXPECT_EQ(workload::parameter_count(back), workload::parameter_count(m)) << name;
    EXPECT_EQ(workload::flops_per_token(back, 8192).causal, workload::flops_per_token(m, 8192).causal) << name;
  }
}

TEST(KernelsFile, NamesTheCurveOfAGpusGeneration) {
  const Catalog catalog;
  EXPECT_EQ(clock_curve_of("h800-sxm", catalog).value(), "hopper") << "by the table that its own is like";
  EXPECT_EQ(clock_curve_of("a100-sxm-80", catalog).value(), "ampere");
  EXPECT_EQ(clock_curve_of("mi300x", catalog).value(), "");
}

TEST(Scenario, ErrorsNamePlaceAndRemedy) {
  const auto parse = [](const char* text) { return read_layout(YamlDocument::parse(text, "job.yaml").value().root()); };
  const std::pair<const char*, const char*> cases[] = {
      {"{tp: 8, recompute: some}", "write none, selective, full or auto"},
      {"{tp: -1}", "tp"},
      {"{tpp: 8}", "tp"},
      {"{precision: int4}", "write bf16, fp16, fp8, fp4 or int8"},
      {"{dispatch_bytes: 3}", "1 byte (fp8) or 2"},
      {"{schedule: zb}", "write 1f1b, gpipe, zb-h1, zb-v or dualpipe-v"},
      {"{rank_order: pp-tp}", "tp-cp-dp-pp"},
      {"{offload: {optimiser: true}}", "optimizer"},
      {"{gradient_bytes: 3}", "gradients"}};
  for (const auto& [text, part] : cases) {
    const auto layout = parse(text);
    ASSERT_FALSE(layout.ok()) << text;
    EXPECT_NE(layout.error().text().find("job.yaml:1:"), std::string::npos) << layout.error().text();
    EXPECT_NE(layout.error().text().find(part), std::string::npos) << layout.error().text();
  }
}

}  // namespace
}  // namespace busbar::spec
