#include "busbar/predict/band.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar::predict {
namespace {

using testing::HasSubstr;

AccuracyTable published_bands() { return AccuracyTable::load(spec::Catalog()).value(); }

TEST(Bands, TheKindOfLinksBetweenGpusIsRead) {
  EXPECT_EQ(joined_by(spec::load_cluster("dgx-h100")->topology), JoinedBy::kSwitch);
  EXPECT_EQ(joined_by(spec::load_cluster("mi300x-8")->topology), JoinedBy::kMesh);
  EXPECT_EQ(joined_by(spec::load_cluster("dgx-1v:2")->topology), JoinedBy::kMesh);
  EXPECT_EQ(joined_by(spec::load_cluster("rtx4090-pcie")->topology), JoinedBy::kPcie);
}

TEST(Bands, EveryMachineOfTheCatalogueHasOneAtEverySize) {
  const AccuracyTable table = published_bands();
  ASSERT_EQ(table.sizes().size(), 4u);
  for (const std::string& name : spec::Catalog().names("nodes")) {
    const spec::Cluster c = spec::load_cluster(name).value();
    if (c.ideal) continue;
    for (const bool several : {false, true})
      for (const Bytes size : table.sizes()) {
        const Band b = table.collective(c, size, several);
        EXPECT_LT(b.low_percent, b.high_percent) << name << ' ' << count(size);
        EXPECT_GT(b.low_percent, -100) << name;
        EXPECT_FALSE(b.basis.empty()) << name;
      }
  }
}

// A size has the band that begins last below it, and no other.
TEST(Bands, ChangeWhereTheNextOneBegins) {
  const AccuracyTable table = published_bands();
  const std::vector<Bytes> sizes = table.sizes();
  EXPECT_EQ(count(sizes.front()), 0u);
  const spec::Cluster c = spec::load_cluster("dgx-h100").value();
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    EXPECT_LT(count(sizes[i - 1]), count(sizes[i]));
    const auto basis = [&](std::uint64_t size) { return table.collective(c, Bytes{size}, false).basis; };
    EXPECT_EQ(basis(count(sizes[i]) - 1), basis(count(sizes[i - 1])));
    EXPECT_NE(basis(count(sizes[i])), basis(count(sizes[i - 1])));
  }
  EXPECT_NE(table.collective(c, Bytes{1 << 20}, false).basis, table.collective(c, Bytes{1 << 20}, true).basis);
}

TEST(Bands, OfTrainingAreThoseOfSourcesLeftOutByLayersAndKnownClocks) {
  const AccuracyTable table = published_bands();
  const Band dense = table.training(spec::load_cluster("dgx-h100").value(), false);
  EXPECT_THAT(dense.basis,
              testing::AllOf(HasSubstr("dense models"), HasSubstr("left out"), HasSubstr("docs/accuracy.md")));
  EXPECT_LT(dense.low_percent, dense.high_percent);
  EXPECT_EQ(dense.basis, table.training(spec::load_cluster("dgx-a100-40").value(), false).basis);
  const Band other = table.training(spec::load_cluster("tpu-v5p").value(), false);
  EXPECT_THAT(other.basis, HasSubstr("unknown clocks"));
  EXPECT_NE(dense.low_percent, other.low_percent);
  const Band experts = table.training(spec::load_cluster("dgx-h100").value(), true);
  EXPECT_THAT(experts.basis, HasSubstr("models with experts"));
  EXPECT_GT(experts.high_percent - experts.low_percent, dense.high_percent - dense.low_percent);
}

TEST(Bands, HoldFourFifthsOfTheMeasurementsOfSourcesLeftOut) {
  const AccuracyTable table = published_bands();
  for (const char* machine : {"dgx-h100:2", "dgx-a100"}) {
    const spec::Cluster c = spec::load_cluster(machine).value();
    for (const Bytes size : table.sizes()) EXPECT_GE(table.collective(c, size, false).held_percent, 80) << machine;
    for (const bool experts : {false, true}) EXPECT_GE(table.training(c, experts).held_percent, 80) << machine;
  }
}

TEST(Bands, BelowOneMiBDependOnTheNetworkAndTheLaunchMode) {
  const AccuracyTable table = published_bands();
  const spec::Cluster infiniband = spec::load_cluster("dgx-h100:2").value();
  EXPECT_EQ(network_kind(infiniband.topology), "infiniband");
  const auto width = [&](Bytes size, std::string_view launch) {
    const Band b = table.collective(infiniband, size, true, launch);
    return b.high_percent - b.low_percent;
  };
  EXPECT_LT(width(Bytes{1024}, "process"), width(Bytes{1024}, ""));
  EXPECT_EQ(width(Bytes{1 << 20}, "process"), width(Bytes{1 << 20}, ""));
}

TEST(Bands, ArePrintedAsFactorsOfThePrediction) {
  const Band b{-10.4, 264, "from 3 runs", false};
  EXPECT_EQ(words_of(b), "Accuracy: 9 of 10 measurements took 0.90 to 3.64 times the predicted time: from 3 runs.");
  EXPECT_THAT(words_of(b, " at 1 GiB"), testing::StartsWith("Accuracy at 1 GiB: 9 of 10"));
}

TEST(Bands, AGpuMeasuredInOneNodeOnlyHasTheBandOfOthersOverSeveral) {
  const AccuracyTable table = published_bands();
  const spec::Cluster c = spec::load_cluster("v100-pcie").value();
  EXPECT_THAT(table.collective(c, Bytes{1 << 20}, false).basis, HasSubstr("on v100-pcie"));
  EXPECT_THAT(table.collective(c, Bytes{1 << 20}, true).basis, HasSubstr("no measurement of v100-pcie"));
}

TEST(Bands, ABoardWithP2POffDoesNotCiteMeasurementsWithP2POn) {
  const AccuracyTable table = published_bands();
  const spec::Cluster off = spec::load_cluster("rtx4090-pcie").value();
  spec::Overrides set;
  set.set = {"node.p2p=true"};
  const spec::Cluster on = spec::load_cluster("rtx4090-pcie", set).value();
  EXPECT_THAT(table.collective(off, Bytes{1 << 30}, false).basis, HasSubstr("no measurement of rtx4090 with P2P off"));
  EXPECT_THAT(table.collective(on, Bytes{1 << 30}, false).basis, HasSubstr("measured on rtx4090 ("));
  set.set = {"node.p2p=false"};  // GPUs on NVLink do not use PCIe
  EXPECT_EQ(table.collective(spec::load_cluster("dgx-h100", set).value(), Bytes{1 << 30}, false).basis,
            table.collective(spec::load_cluster("dgx-h100").value(), Bytes{1 << 30}, false).basis);
}

TEST(Bands, AMachineWithoutSoftwareCostsHasNone) {
  const auto c = spec::parse_cluster(
      "node:\n  devices: [{name: gpu, count: 2}]\n"
      "  links: [{between: [gpu0, gpu1], kind: nvlink, rate: 25GB/s}]\n",
      "t");
  ASSERT_TRUE(c.ok()) << c.error().text();
  const Band b = published_bands().collective(*c, Bytes{1 << 20}, false);
  EXPECT_TRUE(b.ideal);
  EXPECT_THAT(words_of(b), HasSubstr("no software costs"));
  EXPECT_THAT(words_of(b), testing::Not(HasSubstr("times")));
}

// PCIe and NVLink of one GPU in either order.
TEST(Bands, LinksToGpusCountWhicheverLinkOfAGpuIsTheFirst) {
  const std::string pcie = "{between: [\"gpu[0-1]\", cpu], kind: pcie, rate: 64GB/s}",
                    mesh = "{between: [gpu0, gpu1], kind: nvlink, rate: 25GB/s}";
  for (const std::string& links : {pcie + ", " + mesh, mesh + ", " + pcie}) {
    const auto c =
        spec::parse_cluster("node:\n  devices: [{name: gpu, count: 2}, {name: cpu}]\n  links: [" + links + "]\n", "t");
    ASSERT_TRUE(c.ok()) << c.error().text();
    EXPECT_EQ(joined_by(c->topology), JoinedBy::kMesh) << links;
  }
}

}  // namespace
}  // namespace busbar::predict
