#include "busbar/spec/protocol_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/spec/cluster.h"

namespace busbar::spec {
namespace {

/// The number of keys of `fitted` that are figures.
std::size_t fitted_constants(const YamlNode& root) {
  std::size_t n = 0;
  if (const auto fitted = root.find("fitted"))
    for (std::size_t i = 0; i < fitted->size(); ++i)
      n += fitted->key(i) != "fit" && fitted->key(i) != "source" && fitted->key(i) != "confidence" ? 1 : 0;
  return n;
}

TEST(ProtocolFile, NoGenerationHasMoreThanSixFittedConstantsAndNoNetworkMoreThanFive) {
  const Catalog catalog;
  for (const auto& [folder, most] : {std::pair("protocols", 6u), std::pair("transports", 5u)})
    for (const std::string& name : catalog.names(folder)) {
      const YamlDocument d = catalog.load(folder, name).value();
      EXPECT_LE(fitted_constants(d.root()), most) << folder << "/" << name;
      if (const auto fitted = d.root().find("fitted")) {
        EXPECT_TRUE(fitted->find("fit").has_value()) << name << " does not say over what range it was fitted";
        EXPECT_TRUE(fitted->find("source").has_value()) << name;
      }
    }
}

TEST(ProtocolFile, FittedFiguresReplaceTheFiguresAboveThem) {
  const Catalog catalog;
  Reading reading(catalog);
  const auto p = read_protocol(
      YamlDocument::parse("launch: 1us\nll_efficiency: 0.5\nfitted: {launch: 2us, share_scale_up: 0.9}\n", "p.yaml")
          .value()
          .root(),
      reading);
  ASSERT_TRUE(p.ok()) << p.error().text();
  EXPECT_EQ(p->launch, Duration::us(2));
  EXPECT_EQ(p->share_scale_up, 0.9);
  EXPECT_TRUE(p->ll.available);
  EXPECT_FALSE(p->ll128.available);
}

TEST(ProtocolFile, AShareAboveOneIsRefusedAtItsPlace) {
  const Catalog catalog;
  Reading reading(catalog);
  const auto p = read_protocol(YamlDocument::parse("share_network: 1.5\n", "p.yaml").value().root(), reading);
  ASSERT_FALSE(p.ok());
  EXPECT_THAT(p.error().text(), testing::HasSubstr("p.yaml:1:"));
}

TEST(ProtocolFile, TheNetworkBringsItsTransportAndTheProtocolMayOverruleIt) {
  const Cluster ib = load_cluster("dgx-h100:2").value();
  EXPECT_GT(ib.protocol.step_network, Duration());
  Overrides tcp;
  tcp.set = {"fabric.transport=tcp"};
  EXPECT_GT(load_cluster("dgx-h100:2", tcp)->protocol.step_network, ib.protocol.step_network);
  Overrides copies;
  copies.set = {"fabric.transport={copied_above: 4KiB, copy_network: 7us, fetched_above: 16KiB, fetch_network: 9us}"};
  const program::MessageCosts of = load_cluster("dgx-h100:2", copies)->protocol.messages;
  EXPECT_EQ(of.of(4096), Duration());
  EXPECT_EQ(of.of(4097), Duration::us(7));
  EXPECT_EQ(of.of(16385), Duration::us(16));
  EXPECT_GT(parse_cluster("name: c\nnodes: 2\nnode: gh200-4\nfabric: slingshot-11\n", "c")->protocol.messages.slot,
            Duration());
  Overrides own;
  own.set = {"protocol.step_network=1us"};
  EXPECT_EQ(load_cluster("dgx-h100:2", own)->protocol.step_network, Duration::us(1));
}

TEST(ProtocolFile, TheTransportSaysWhichNicsAreTakenTogether) {
  EXPECT_EQ(load_cluster("dgx-h100:2")->fabric.merges_nics, topology::NicMerging::kByCard);
  EXPECT_EQ(load_cluster("aws-p5:2")->fabric.merges_nics, topology::NicMerging::kByGpu);
  EXPECT_EQ(load_cluster("aws-p4d:2")->fabric.merges_nics, topology::NicMerging::kNone);
  Overrides wrong;
  wrong.set = {"fabric.transport={merges_nics: often}"};
  EXPECT_THAT(load_cluster("dgx-h100:2", wrong).error().text(), testing::HasSubstr("by_card"));
}

}  // namespace
}  // namespace busbar::spec
