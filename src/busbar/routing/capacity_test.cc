#include "busbar/routing/capacity.h"

#include <gtest/gtest.h>

#include <set>

namespace busbar::routing {
namespace {

TEST(Capacity, SaysWhatItIs) {
  const CapacityId link = topology::LinkId{7}, limit = CapacityId::limit_of(topology::DeviceId{7}),
                   bundle = CapacityId::bundle(7);
  EXPECT_TRUE(link.is_link() && limit.is_device() && bundle.is_bundle());
  EXPECT_EQ(link.link(), topology::LinkId{7});
  EXPECT_EQ(limit.device(), topology::DeviceId{7});
  EXPECT_EQ(bundle.number(), 7u);
  EXPECT_TRUE(link < limit && limit < bundle && bundle < CapacityId());
}

TEST(Capacity, ThatNamesNothingIsOfNoKindAndNoLink) {
  const CapacityId nothing;
  EXPECT_FALSE(nothing.is_link() || nothing.is_device() || nothing.is_bundle());
  EXPECT_EQ(nothing, CapacityId(kNone<topology::LinkId>));
  EXPECT_EQ(nothing.link(), kNone<topology::LinkId>);
}

TEST(Capacity, HasAPlaceOfItsOwnInTheOrderOfIds) {
  const CapacityCounts counts{3, 2, 4};
  std::set<CapacityId> all;
  for (std::uint32_t i = 0; i < counts.bundles; ++i) all.insert(CapacityId::bundle(i));
  for (std::uint32_t i = 0; i < counts.links; ++i) all.insert(topology::LinkId{i});
  for (std::uint32_t i = 0; i < counts.devices; ++i) all.insert(CapacityId::limit_of(topology::DeviceId{i}));
  std::uint32_t place = 0;
  for (const CapacityId c : all) EXPECT_EQ(counts.place(c), place++);
  EXPECT_EQ(place, counts.size());
}

}  // namespace
}  // namespace busbar::routing
