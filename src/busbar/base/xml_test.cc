#include "busbar/base/xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar {
namespace {

using testing::HasSubstr;

TEST(Xml, ElementsKnowTheirPlace) {
  const auto root = parse_xml("<!-- remark -->\n<a x=\"1\">\n  <b y=\"2.5\"/> text\n  <c/>\n</a>\n", "f.xml");
  ASSERT_TRUE(root.ok()) << root.error().text();
  EXPECT_EQ(root->tag(), "a");
  EXPECT_EQ(root->where().prefix(), "f.xml:2:1: ");
  const auto children = root->children();
  ASSERT_EQ(children.size(), 2u) << "text is not an element";
  EXPECT_EQ(children[0].where().prefix(), "f.xml:3:3: ");
  EXPECT_EQ(*root->integer("x", 0, 9), 1);
  EXPECT_EQ(*children[0].number("y", 0, 9), 2.5);
}

TEST(Xml, NumbersAreWholeAndInRange) {
  const auto root = parse_xml("<a x=\"1q\" y=\"70\" z=\"\" n=\"nan\"/>", "f");
  EXPECT_THAT(root->integer("x", 0, 9).error().text(), HasSubstr("f:1:1: a.x: '1q' is not a whole number"));
  EXPECT_THAT(root->integer("y", 0, 9).error().text(), HasSubstr("70 is outside 0 to 9"));
  EXPECT_FALSE(root->integer("z", 0, 9).ok());
  EXPECT_FALSE(root->number("n", 0, 9).ok());
  EXPECT_THAT(root->integer("none", 0, 9).error().text(), HasSubstr("a.none: is missing"));
  EXPECT_EQ(*root->integer_or("none", 5, 0, 9), 5);
}

TEST(Xml, UnboundedTreesAreRefused) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  for (int i = 0; i < 100'000; ++i) deep += "</a>";
  EXPECT_THAT(parse_xml(deep, "f").error().text(), HasSubstr("nested deeper than 64"));
  EXPECT_THAT(parse_xml("<a/><b/>", "f").error().text(), HasSubstr("f:1:5: a second root"));
  EXPECT_THAT(parse_xml("<a>\n</b>", "f").error().text(), HasSubstr("f:2:"));
  for (const char* text : {"", "   ", "<!-- nothing -->", "<a", "a", "<a x=1/>", "\xff\xfe<a/>"})
    EXPECT_FALSE(parse_xml(text, "f").ok()) << text;
}

TEST(Xml, EntitiesDoNotGrow) {
  const auto root = parse_xml("<!DOCTYPE a [<!ENTITY b \"xxxxxxxxxx\">]><a x=\"&b;&b;\"/>", "f");
  ASSERT_TRUE(root.ok()) << root.error().text();
  EXPECT_EQ(*root->find("x"), "&b;&b;");
}

}  // namespace
}  // namespace busbar
