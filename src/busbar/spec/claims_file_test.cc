#include "busbar/spec/claims_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/spec/catalog.h"

namespace busbar::spec {
namespace {

using testing::HasSubstr;

std::string error_of(const std::string& claims) {
  const auto document = YamlDocument::parse("name: x\nsource: somebody said so\nclaims:\n" + claims, "claims.yaml");
  const auto read = read_claims(*document);
  return read.ok() ? "" : read.error().text();
}

TEST(Claims, ThePopularOnesAreRead) {
  const auto document = Catalog().load("claims", "training");
  ASSERT_TRUE(document.ok()) << document.error().text();
  const auto claims = read_claims(*document);
  ASSERT_TRUE(claims.ok()) << claims.error().text();
  ASSERT_EQ(claims->claims.size(), 5u);
  EXPECT_EQ(claims->claims[1].measure, ClaimMeasure::kEfficiency);
  EXPECT_EQ(claims->claims[1].low_percent, 40);
  EXPECT_EQ(claims->claims[1].high_percent, 50);
  EXPECT_EQ(claims->claims[4].measure, ClaimMeasure::kExposedTp);
  EXPECT_EQ(claims->claims[4].said_of, "NVLink 5");
  EXPECT_FALSE(claims->source.empty());
}

TEST(Claims, InvalidBandsAreRefusedAtTheirPlace) {
  EXPECT_EQ(error_of("  - {measure: efficiency, said_of: x, low_percent: 1, high_percent: 2}\n"), "");
  EXPECT_THAT(error_of("  - {measure: efficiency, said_of: x, low_percent: 3, high_percent: 2}\n"),
              HasSubstr("claims.yaml:4:5: claims[0]: a band from 3 to 2 % holds nothing"));
  EXPECT_THAT(error_of("  - {measure: speed, said_of: x, low_percent: 1, high_percent: 2}\n"),
              HasSubstr("claims[0].measure: 'speed' is not measured; write efficiency or exposed_tp"));
  EXPECT_THAT(error_of("  - {measure: efficiency, said_of: x, low_percent: 1, high_percent: 101}\n"),
              HasSubstr("claims[0].high_percent"));
  EXPECT_THAT(error_of("  - {measure: efficiency, said_of: x, low: 1, high_percent: 10}\n"), HasSubstr("low"));
  EXPECT_THAT(error_of("  {}\n"), HasSubstr("needs a list of claims"));
}

}  // namespace
}  // namespace busbar::spec
