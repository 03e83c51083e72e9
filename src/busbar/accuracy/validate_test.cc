#include "busbar/accuracy/validate.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/accuracy/internal/measured_machine.h"
#include "busbar/accuracy/library_version.h"
#include "busbar/accuracy/summary.h"
#include "busbar/topology/levels.h"

namespace busbar::accuracy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CsvTable table(const std::string& text) {
  auto t = CsvTable::parse(text, "t.csv");
  BUSBAR_CHECK(t.ok()) << t.error().text();
  return std::move(t).value();
}

const char* const kHeader =
    "source_id,nodes,gpus_total,gpus_per_node,collective,size_bytes,time_us,busbw_GBps,node,node_variant,nics_per_node,"
    "nic_gbps,fabric,gpudirect,algo,use\n";

ScoredRow scored(const char* configuration, std::uint64_t size, double predicted, double measured) {
  ScoredRow r;
  r.configuration = configuration;
  r.size_bytes = size;
  r.predicted = predicted;
  r.measured = measured;
  r.node = "n";
  r.kind = "all_reduce";
  return r;
}

TEST(Validate, ConditionsKeepTheRowsThatMeetAllOfThem) {
  const CsvTable t = table("a,b\nx,1\nx,2\ny,3\n");
  EXPECT_THAT(*filter_rows(t, ""), ElementsAre(0, 1, 2));
  EXPECT_THAT(*filter_rows(t, "a=x,b>1"), ElementsAre(1));
  EXPECT_THAT(*filter_rows(t, "a!=x"), ElementsAre(2));
  EXPECT_THAT(*filter_rows(t, "b<3"), ElementsAre(0, 1));
}

TEST(Validate, AConditionOnAColumnThatIsNotThereIsRefusedWithTheNearest) {
  const CsvTable t = table("node,b\nx,1\n");
  EXPECT_THAT(filter_rows(t, "nide=x").error().text(), HasSubstr("did you mean 'node'?"));
  EXPECT_THAT(filter_rows(t, "node").error().text(), HasSubstr("is not a condition"));
  EXPECT_THAT(filter_rows(t, "b>many").error().text(), HasSubstr("not a number"));
}

TEST(Validate, ATableOfSomethingElseIsRefused) {
  EXPECT_EQ(kind_of_table(table("a,b\n1,2\n")).error().code, ErrorCode::kUnsupported);
}

TEST(Validate, AKernelIsTimedFromItsShapeAndAMissingSizeIsNamed) {
  const std::string header = "gpu,kernel,variant,direction,m,n,k,bytes,time_us\n";
  const auto rows = validate(table(header + "h100-sxm,gemm,bf16,forward,8192,8192,8192,,1600\n" +
                                   "h100-sxm,fft,,forward,8192,8192,8192,,1600\n"),
                             {});
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  EXPECT_GT((*rows)[0].predicted, 2 * 8192.0 * 8192 * 8192 / 989e12 * 1e6);  // at the peak
  EXPECT_THAT((*rows)[1].unsupported, HasSubstr("no model of kernel 'fft'"));
  const auto missing = validate(table(header + "h100-sxm,gemm,bf16,forward,8192,8192,,,1600\n"), {});
  EXPECT_THAT(missing.error().text(), HasSubstr("needs k, a number from 1 on"));
}

TEST(Validate, ARowIsPredictedFromItsColumnsAndATimeFollowsFromItsBandwidth) {
  const CsvTable t = table(std::string(kHeader) +
                           "a,1,8,8,all_reduce,1073741824,8000,,dgx-a100,,0,0,none,na,ring,accuracy\n"
                           "b,1,8,8,all_reduce,1073741824,,234.881024,dgx-a100,,0,0,none,na,ring,accuracy\n");
  const auto rows = validate(t, {});
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].measured, 8000);
  EXPECT_NEAR((*rows)[1].measured, 8000, 1e-6);  // 2 (n-1)/n S / busbw
  EXPECT_GT((*rows)[0].predicted, 1073741824 * 1.75 / 300e9 * 1e6) << "below what 300 GB/s allow";
  EXPECT_EQ((*rows)[0].predicted, (*rows)[1].predicted);
}

TEST(Validate, ARowThatIsInterruptedIsLeftOut) {
  const CsvTable t = table(std::string(kHeader) +
                           "a,1,8,8,all_reduce,1073741824,8000,,dgx-a100,,0,0,none,na,ring,accuracy\n"
                           "b,1,8,8,all_reduce,1048576,80,,dgx-a100,,0,0,none,na,ring,accuracy\n");
  volatile std::sig_atomic_t stop = 0;
  ValidateOptions o;
  o.stop = &stop;
  o.go_on = [&](std::size_t done, std::size_t) { return stop = done == 1, true; };  // as if a signal came just after
  const auto rows = validate(t, o);
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_TRUE((*rows)[0].unsupported.empty());
}

TEST(Validate, TheRulesFollowTheReleaseOfTheRow) {
  const auto words = [](const char* text) { return library_version(text).words; };
  EXPECT_EQ(words("NCCL 2.27.7 (doc default)"), "NCCL 2.27");
  EXPECT_EQ(words("NCCL 2.22.3+cuda12.5"), "NCCL 2.22");
  EXPECT_EQ(words("NCCL 2.18-2.19 era"), "NCCL 2.18");
  EXPECT_EQ(words("NCCL not stated (doc default 2.27.7)"), "NCCL 2.27");
  EXPECT_EQ(words("NCCL (22907 headers), nccl-tests 2.20.0"), "NCCL 2.29");
  EXPECT_EQ(words("NCCL 2.9.9 era"), "NCCL 2.18, the oldest known, for 2.9");
  EXPECT_EQ(words("NCCL (23102 headers)"), "NCCL 2.30, the newest known, for 2.31");
  for (const char* none : {"", "nccl-tests 2.17.6", "NCCL 2019", "NCCL 2.2x", "NCCL (CUDA 12.4)", "RCCL 2.22.3",
                           "NCCL not stated (2021-22)", "NCCL", "NCCL not stated (doc default"})
    EXPECT_EQ(words(none), "NCCL 2.30, none is stated") << none;
}

TEST(Validate, ReleasesAndChannelsOfARowChangeItsPrediction) {
  std::string header = kHeader;
  header.insert(header.size() - 1, ",library_version,channels");
  const CsvTable t = table(header +
                           "a,1,5,5,all_reduce,8589934592,,414,dgx-h200,gpus-visible=5,0,0,none,na,auto,,NCCL 2.27,\n"
                           "b,1,5,5,all_reduce,8589934592,,414,dgx-h200,gpus-visible=5,0,0,none,na,auto,,NCCL 2.30,\n"
                           "c,2,16,8,all_reduce,8,20,,dgx-h100,,8,400,ib,yes,auto,,,4..16\n"
                           "d,1,8,8,all_reduce,8,20,,mi300x-8,,0,0,none,na,auto,,RCCL 2.22.3,\n");
  const auto rows = validate(t, {});
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  EXPECT_EQ((*rows)[0].how, "nvls, simple");
  EXPECT_EQ((*rows)[0].library, "NCCL 2.27");
  EXPECT_EQ((*rows)[1].how, "ring, simple");
  EXPECT_EQ((*rows)[2].unsupported, "");
  EXPECT_EQ((*rows)[3].library, "RCCL") << "of one release";
}

TEST(Validate, ARowThatCannotBePredictedSaysWhyAndTheOthersGoOn) {
  const CsvTable t = table(std::string(kHeader) +
                           "a,1,8,8,all_reduce,1024,10,,dgx-a100,,0,0,none,na,auto,accuracy\n"
                           "b,2,16,8,all_reduce,1024,10,,dgx-a100,,,,ib,yes,auto,none\n"
                           "c,1,8,8,all_reduce,1024,10,,unknown,,0,0,none,na,auto,none\n"
                           "d,1,8,8,all_reduce,1024,10,,dgx-a100,magic,0,0,none,na,auto,none\n"
                           "e,1,8,8,all_reduce,,10,,dgx-a100,,0,0,none,na,auto,none\n");
  const auto rows = validate(t, {});
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  EXPECT_EQ((*rows)[0].unsupported, "");
  EXPECT_EQ((*rows)[1].unsupported, "NICs are not known");
  EXPECT_EQ((*rows)[2].unsupported, "the board is not known");
  EXPECT_THAT((*rows)[3].unsupported, HasSubstr("magic"));
  EXPECT_EQ((*rows)[4].unsupported, "the size is not known");
}

TEST(Validate, ASliceIsOneMachineOfItsShapeAndNeedsNoNics) {
  const std::string header =
      "row_id,source_id,model,layers,hidden,ffn_hidden,heads,kv_heads,vocab,seq_len,gpu,gpus_total,gpus_per_node,node,"
      "node_variant,fabric,TP,PP,DP,zero_fsdp,micro_batch,global_batch,framework,framework_release,precision,"
      "step_time_s,gated_mlp,use\n";
  const std::string end = ",JAX FSDP,1,64,maxtext,,bf16,5.6,y,accuracy\n";
  const auto row = [&](const char* id, int chips) {
    return fmt::format("{},s,Llama3.1-8B,32,4096,14336,32,8,128256,8192,TPU-V6E,{},4,tpu-v6e,,ici,1,1,{}", id, chips,
                       chips) +
           end;
  };
  const auto rows = validate(table(header + row("1", 32) + row("2", 20) + row("3", 48)), {});
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  EXPECT_EQ((*rows)[0].unsupported, "");
  EXPECT_THAT((*rows)[0].step->scenario.cluster, HasSubstr("shape: 4x8"));
  EXPECT_EQ((*rows)[0].band_class, "dense, ici");
  EXPECT_EQ((*rows)[1].unsupported, "a slice of 20 chips");
  EXPECT_THAT((*rows)[2].unsupported, HasSubstr("not divisible by dp 48"));  // it has a shape, 4x12
}

TEST(Validate, ACellThatIsNoNumberEndsTheRunAtItsPlace) {
  const CsvTable t = table(std::string(kHeader) + "a,1,8,8,all_reduce,big,10,,dgx-a100,,0,0,none,na,auto,accuracy\n");
  EXPECT_THAT(validate(t, {}).error().text(), HasSubstr("t.csv:2: size_bytes: 'big' is not a number"));
}

TEST(MeasuredMachine, AccuracyRowsDescribeMachinesThatCanBeBuiltButForNetworksNotInTheCatalogue) {
  const auto t = CsvTable::load("data/measured/collectives.csv");
  ASSERT_TRUE(t.ok()) << t.error().text();
  const spec::Catalog catalog;
  std::string last;
  std::size_t rows = 0, built = 0;
  for (const std::size_t row : filter_rows(*t, "use=accuracy").value()) {
    ++rows;
    const auto m = machine_of_row(*t, row, catalog);
    if (!m.ok()) {
      EXPECT_THAT(m.error().message, HasSubstr("in the catalogue")) << t->where(row, "node").prefix();
      continue;
    }
    ++built;
    if (m->text == last) continue;
    last = m->text;
    EXPECT_TRUE(spec::parse_cluster(m->text, m->node).ok()) << t->where(row, "node").prefix() << last;
  }
  EXPECT_GT(static_cast<double>(built), 0.95 * static_cast<double>(rows));
}

TEST(MeasuredMachine, SwitchesSocketsAndPeerAccessComeFromTheVariant) {
  const CsvTable t =
      table(std::string(kHeader) +
            "a,1,8,8,all_reduce,1,1,,rtxpro6000-pcie,pcie-gen=4;pcie-switch;switches=2;p2p=on,0,0,none,na,auto,\n"
            "b,1,8,8,all_reduce,1,1,,rtx4090-pcie,cross-socket,0,0,none,na,auto,\n");
  const auto a = machine_of_row(t, 0, spec::Catalog());
  ASSERT_TRUE(a.ok());
  EXPECT_THAT(a->text, HasSubstr("base: pcie-cards-switched"));
  EXPECT_THAT(a->text, HasSubstr("link: pcie4"));
  EXPECT_THAT(a->text, HasSubstr("cards_per_switch: 4"));
  EXPECT_THAT(a->text, HasSubstr("p2p: true"));
  const auto b = machine_of_row(t, 1, spec::Catalog());
  ASSERT_TRUE(b.ok());
  EXPECT_THAT(b->text, HasSubstr("cards_per_cpu: 4"));
  EXPECT_THAT(b->text, HasSubstr("p2p: false"));
}

TEST(MeasuredMachine, TraysOfAnNvlRackAreOneDomainUnlessTheVariantNamesMoreRacks) {
  const auto text = [](const std::string& variant) {
    const CsvTable t = table(std::string(kHeader) + "a,4,16,4,all_reduce,1,1,,gb200-nvl72," + variant +
                             ",4,400,ib,yes,auto,accuracy\n");
    return machine_of_row(t, 0, spec::Catalog())->text;
  };
  EXPECT_THAT(text(""), HasSubstr("nodes: 1,"));
  EXPECT_THAT(text("racks=1"), HasSubstr("nodes: 1,"));
  for (const char* variant : {"racks=2", "racks=3", "racks=4", "racks=9"}) {
    const std::string racks = std::string(variant) == "racks=2" ? "2" : "4";  // each has equally many trays
    EXPECT_THAT(text(variant), HasSubstr("nodes: " + racks + ",")) << variant;
    EXPECT_THAT(text(variant), HasSubstr(racks == "2" ? "trays: 2" : "trays: 1")) << variant;
  }
}

TEST(Summary, BandsAreHalfOpenInMiB) {
  EXPECT_EQ(band_of((1u << 20) - 1), "below 1 MiB");
  EXPECT_EQ(band_of(1u << 20), "1-64 MiB");
  EXPECT_EQ(band_of(64u << 20), "64 MiB-1 GiB");
  EXPECT_EQ(band_of(1u << 30), "1 GiB and more");
  EXPECT_EQ(band_of(0), "no size");
}

TEST(Summary, AConfigurationCountsOnceByItsMedianHoweverManyRowsItHas) {
  std::vector<ScoredRow> rows{scored("a", 8, 130, 100), scored("a", 16, 110, 100), scored("a", 32, 120, 100),
                              scored("b", 8, 90, 100)};
  rows.push_back(scored("c", 8, 500, 100));
  rows.back().counts = false;
  rows.push_back(scored("d", 8, 0, 100));
  rows.back().unsupported = "why";
  const Summary s = summarise(rows);
  const ErrorSummary& e = s.by_band.at("below 1 MiB");
  EXPECT_EQ(e.configurations, 2u);
  EXPECT_EQ(e.rows, 4u);
  EXPECT_NEAR(e.median_percent, 5, 1e-9);  // of +20 and -10
  EXPECT_NEAR(e.median_abs_percent, 15, 1e-9);
  EXPECT_NEAR(e.p90_abs_percent, 20, 1e-9);
}

TEST(Summary, BandsCountRowsInsideThemAndConfigurationsEqually) {
  std::vector<ScoredRow> rows;
  const auto add = [&](const char* configuration, double predicted, double measured, predict::Band band) {
    ScoredRow r = scored(configuration, std::uint64_t{1} << 30, predicted, measured);
    r.band = std::move(band);
    rows.push_back(std::move(r));
  };
  add("a", 100, 109, {-10, 10, "b"});  // one of two inside
  add("a", 100, 111, {-10, 10, "b"});
  add("b", 100, 95, {-20, 30, "b"});
  add("c", 100, 500, {0, 0, "ideal", true});  // no band
  add("d", 100, 500, {});
  const Summary s = summarise(rows);
  ASSERT_EQ(s.bands.size(), 1u);
  const BandSummary& b = s.bands.begin()->second;
  EXPECT_EQ(b.configurations, 2u);
  EXPECT_EQ(b.rows, 3u);
  EXPECT_DOUBLE_EQ(b.coverage_percent, 75);
  EXPECT_DOUBLE_EQ(b.median_width_percent, 20);
  EXPECT_NEAR(b.p90_percent, 11, 1e-9);
}

TEST(Summary, TwinsAreConfigurationsOfEqualPredictions) {
  const Summary s = summarise({scored("a", 8, 100, 100), scored("b", 8, 100, 110), scored("a", 16, 200, 200),
                               scored("b", 16, 200, 160), scored("c", 8, 101, 500), scored("a", 8, 100, 100)});
  ASSERT_EQ(s.twins.size(), 1u);
  EXPECT_EQ(s.twins.begin()->second.pairs, 1u);                     // c is predicted otherwise
  EXPECT_NEAR(s.twins.begin()->second.median_percent, 17.5, 1e-9);  // of 10 and 25
}

TEST(Summary, OnlyPairsThatDifferByMoreThan15PercentHaveAnOrder) {
  const Summary s =
      summarise({scored("a", 8, 1, 100), scored("b", 8, 2, 110), scored("c", 8, 3, 130), scored("d", 8, 0.5, 200)});
  EXPECT_EQ(s.order.pairs, 5u);  // all but a-b
  EXPECT_EQ(s.order.right, 2u);  // a-c, b-c; d is predicted fastest and is slowest
}

TEST(Summary, SweepsAreFoundByTheirFastestLayout) {
  const auto in = [](const char* sweep, const char* layout, double predicted, double measured) {
    ScoredRow r = scored(layout, 0, predicted, measured);
    r.sweep = sweep;
    return r;
  };
  const Summary s = summarise({in("a", "x", 1, 104), in("a", "y", 2, 100), in("a", "z", 3, 90),     // 104 against 90
                               in("b", "x", 1, 104), in("b", "y", 2, 100), in("b", "z", 3, 110),    // within 5 %
                               in("c", "x", 1, 100), in("c", "y", 2, 300), scored("z", 0, 3, 1)});  // two layouts
  EXPECT_EQ(s.sweeps.sweeps, 2u);
  EXPECT_EQ(s.sweeps.found, 1u);
}

TEST(Summary, ErrorsThatAllLayoutsOfAJobShareCancel) {
  const auto in = [](const char* sweep, const char* layout, double predicted, double measured) {
    ScoredRow r = scored(layout, 0, predicted, measured);
    r.sweep = sweep;
    return r;
  };
  std::vector<ScoredRow> rows{in("a", "x", 1, 2),   in("a", "y", 3, 6),  // both 2 times as long as predicted
                              in("b", "x", 10, 11), in("b", "y", 10, 10), in("alone", "x", 1, 9), scored("z", 0, 3, 1)};
  LayoutPairs l = summarise(rows).layouts;
  EXPECT_EQ(l.jobs, 2u);
  EXPECT_EQ(l.pairs, 2u);
  EXPECT_NEAR(l.p90_percent, 10, 1e-9);
  rows.clear();
  for (const char* job : {"a", "b", "c", "d", "e", "f", "g", "h", "i"})
    for (const char* layout : {"x", "y"}) rows.push_back(in(job, layout, 4, 5));
  for (double measured = 1; const char* layout : {"u", "v", "w", "x", "y"})
    rows.push_back(in("j", layout, 1, measured *= 2));
  l = summarise(rows).layouts;  // a job with ten pairs counts as much as one with one
  EXPECT_EQ(l.jobs, 10u);
  EXPECT_EQ(l.pairs, 19u);
  EXPECT_EQ(l.p90_percent, 0);
}

TEST(Summary, TheWorstComeFirstWithTheRowNearestToTheirMedian) {
  const std::vector<ScoredRow> rows{scored("a", 8, 101, 100), scored("b", 8, 150, 100), scored("b", 16, 170, 100),
                                    scored("b", 32, 160, 100)};
  const auto worst = worst_cases(rows, 1);
  ASSERT_EQ(worst.size(), 1u);
  EXPECT_EQ(worst[0].configuration, "b");
  EXPECT_NEAR(worst[0].error_percent, 60, 1e-9);
  EXPECT_EQ(worst[0].example, 3u);
}

}  // namespace
}  // namespace busbar::accuracy
