#include "busbar/base/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "busbar/base/random.h"

namespace busbar {
namespace {

using Kind = YamlNode::Kind;

YamlDocument doc(const std::string& text) { return YamlDocument::parse(text, "f.yaml").value(); }
std::string why(const std::string& text) {
  const auto r = YamlDocument::parse(text, "f.yaml");
  return r.ok() ? "no error" : r.error().text();
}

TEST(Yaml, KnowsThePlaceOfEveryValue) {
  const auto d = doc("name: x\nlinks:\n  - {rate: 400Gb/s}\n  - rate: 50GB/s\n    latency: 2us\n");
  const auto rate = d.root().find("links")->item(1).find("rate");
  EXPECT_EQ(rate->where().prefix(), "f.yaml:4:11: links[1].rate: ");
  EXPECT_EQ(per_second(rate->as_rate().value()), 50'000'000'000u);
  EXPECT_EQ(d.root().find("links")->item(0).find("rate")->where().prefix(), "f.yaml:3:12: links[0].rate: ");
  EXPECT_EQ(d.root().key(1), "links");
  EXPECT_EQ(d.root().find("links")->size(), 2u);
  EXPECT_FALSE(d.root().find("absent"));
}

TEST(Yaml, AMissingUnitIsReportedWithPlaceAndRemedy) {
  const auto d = doc("links:\n  - {rate: 400}\n");
  const auto r = d.root().find("links")->item(0).find("rate")->as_rate();
  EXPECT_EQ(r.error().text(), "f.yaml:2:12: links[0].rate: '400' has no unit; write 400Gb/s");
}

TEST(Yaml, RefusesTextThatItsParserAccepts) {
  EXPECT_EQ(why("a: 1\nb: 2\na: 3\n"), "f.yaml:3:1: the key 'a' is already given in line 1; keep one of them");
  EXPECT_THAT(why("a: &x 1\nb: *x\n"), testing::HasSubstr("f.yaml:1:4: a: an anchor (&name) is not accepted"));
  EXPECT_THAT(why("a: &x [1]\n"), testing::HasSubstr("anchor"));
  EXPECT_THAT(why("a: *x\n"), testing::HasSubstr("f.yaml:1:4"));
  EXPECT_THAT(why("a: !!str 1\n"), testing::HasSubstr("tag"));
  EXPECT_THAT(why("a: 1\n---\nb: 2\n"), testing::HasSubstr("f.yaml:3:1: a second document"));
  EXPECT_THAT(why("a: \xff\n"), testing::HasSubstr("f.yaml:1:4: byte 0xff is not UTF-8"));
  EXPECT_THAT(why("a: 1\nb: \xed\xa0\x80\n"), testing::HasSubstr("f.yaml:2:4"));
  EXPECT_THAT(why(std::string("a: 1\0", 5)), testing::HasSubstr("control character"));
  EXPECT_THAT(why("? [1, 2]\n: 3\n"), testing::HasSubstr("a key must be a plain word"));
  EXPECT_THAT(why("a:\n\t- 1\n"), testing::HasSubstr("f.yaml:2"));
  EXPECT_THAT(why("a: [1\n"), testing::HasSubstr("not valid YAML"));
}

TEST(Yaml, AcceptsDepth64AndRefusesDepth65) {
  const auto nested = [](int n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_EQ(why(nested(64)), "no error");
  EXPECT_THAT(why(nested(65)), testing::HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(why(std::string(1'000'000, '[')), testing::HasSubstr(":1:65: nested deeper"));
  EXPECT_THAT(why("a:\n  " + std::string(65, '[')), testing::HasSubstr(":2:67: nested deeper"));
  std::string dashes;
  for (int i = 0; i < 5'000; ++i) dashes += "- ";
  EXPECT_THAT(why(dashes), testing::HasSubstr("nested deeper"));
  std::string maps;
  for (int i = 0; i < 5'000; ++i) maps += "{a: ";
  EXPECT_THAT(why(maps), testing::HasSubstr("nested deeper"));
}

TEST(Yaml, AnEmptyFileIsNull) {
  EXPECT_EQ(doc("").root().kind(), Kind::kNull);
  EXPECT_EQ(doc("# only a comment\n").root().kind(), Kind::kNull);
  EXPECT_EQ(MapReader(doc("").root()).finish().error().text(), "f.yaml:1:1: expected keys and values, found nothing");
}

TEST(Yaml, ConvertsAndSaysWhyNot) {
  const auto d = doc("i: 12\nn: 1.5\nb: true\nw: yes\nneg: -3\nbig: 99999999999999999999\nl: [1]\ne:\ns: '7'\n");
  const auto at = [&](const char* key) { return *d.root().find(key); };
  EXPECT_EQ(at("i").as_int(0, 20).value(), 12);
  EXPECT_EQ(at("s").as_int(0, 20).value(), 7);
  EXPECT_EQ(at("n").as_number(0, 2).value(), 1.5);
  EXPECT_TRUE(at("b").as_bool().value());
  EXPECT_EQ(at("w").as_bool().error().text(), "f.yaml:4:4: w: 'yes' is neither true nor false");
  EXPECT_EQ(at("neg").as_int(0, 9).error().text(), "f.yaml:5:6: neg: -3 is out of range; it must be between 0 and 9");
  EXPECT_FALSE(at("big").as_int(0, 9).ok());
  EXPECT_FALSE(at("n").as_int(0, 9).ok());
  EXPECT_EQ(at("l").as_string().error().text(), "f.yaml:7:4: l: expected a word, found a list");
  EXPECT_THAT(at("e").as_rate().error().text(), testing::HasSubstr("expected a rate such as 400Gb/s, found nothing"));
  EXPECT_FALSE(doc("n: .nan").root().find("n")->as_number(-1e308, 1e308).ok());
}

TEST(Yaml, ReaderRefusesUnknownKeysWithTheNearestKnownOne) {
  MapReader r(doc("name: a\nrat: 400Gb/s\n").root());
  std::string name;
  BytesPerSecond rate{};
  r.required("name", &YamlNode::as_string, name);
  r.optional("rate", &YamlNode::as_rate, rate);
  EXPECT_EQ(r.finish().error().text(), "f.yaml:2:1: unknown key 'rat'; did you mean 'rate'?");
  EXPECT_EQ(name, "a");
}

TEST(Yaml, ReaderKeepsTheFirstError) {
  MapReader r(doc("rate: 4\n").root());
  BytesPerSecond rate{};
  r.required("rate", &YamlNode::as_rate, rate);
  std::string name;
  r.required("name", &YamlNode::as_string, name);
  EXPECT_THAT(r.finish().error().text(), testing::HasSubstr("has no unit"));
  MapReader missing(doc("rate: 4GB/s\n").root());
  missing.required("name", &YamlNode::as_string, name);
  EXPECT_EQ(missing.finish().error().text(), "f.yaml:1:1: the key 'name' is missing");
}

TEST(Yaml, ReaderNamesAllMissingKeysAndOneThatMayBeMeant) {
  const auto why = [](const char* text) {
    MapReader r(doc(text).root());
    std::string out;
    for (const char* key : {"layers", "hidden", "heads"}) r.required(key, &YamlNode::as_string, out);
    return r.finish().error().text();
  };
  EXPECT_EQ(why("layers: 4\n"), "f.yaml:1:1: the keys 'hidden' and 'heads' are missing");
  EXPECT_EQ(why("other: 4\n"), "f.yaml:1:1: the keys 'layers', 'hidden' and 'heads' are missing");
  EXPECT_EQ(why("layers: 4\nhiden: 8\nheads: 2\n"),
            "f.yaml:1:1: the key 'hidden' is missing; is 'hiden' meant as 'hidden'?");
}

TEST(Yaml, SetReplacesAddsAndNamesTheFlag) {
  auto d = doc("links:\n  - {rate: 1GB/s}\n  - {rate: 2GB/s}\nnode: dgx\n");
  const auto before = d.root();
  ASSERT_TRUE(d.set("links[1].rate", "400Gb/s").ok());
  ASSERT_TRUE(d.set("protocol.launch", "5us").ok());
  ASSERT_TRUE(d.set("faults", "[{fail: a-b}]").ok());
  EXPECT_EQ(d.root().find("links")->item(1).find("rate")->scalar(), "400Gb/s");
  EXPECT_EQ(d.root().find("links")->item(0).find("rate")->scalar(), "1GB/s");
  EXPECT_EQ(d.root().find("protocol")->find("launch")->scalar(), "5us");
  EXPECT_EQ(d.root().find("faults")->item(0).find("fail")->scalar(), "a-b");
  EXPECT_EQ(before.find("links")->item(1).find("rate")->scalar(), "2GB/s");  // old readers keep the old tree
  ASSERT_TRUE(d.set("links[0].rate", "400").ok());
  EXPECT_EQ(d.root().find("links")->item(0).find("rate")->as_rate().error().text(),
            "--set links[0].rate: '400' has no unit; write 400Gb/s");
}

TEST(Yaml, SetFindsListItemsByName) {
  auto d = doc("devices:\n  - {name: cpu, count: 2}\n  - {name: gpu, count: 8}\n  - plain\n");
  ASSERT_TRUE(d.set("devices[gpu].memory_rate", "100GB/s").ok());
  EXPECT_EQ(d.root().find("devices")->item(1).find("memory_rate")->scalar(), "100GB/s");
  EXPECT_FALSE(d.root().find("devices")->item(0).find("memory_rate"));
  const auto s = d.set("devices[nic].count", "4");
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().text(),
            "--set devices[nic].count: '[nic]' is neither the number of a list item nor a name; there are cpu, gpu");
}

TEST(Yaml, SetSaysWhyAPathDoesNotFit) {
  auto d = doc("links: [{rate: 1GB/s}]\nnode: dgx\n");
  const auto bad = [&](const char* path, const char* value = "1") {
    const auto s = d.set(path, value);
    return s.ok() ? std::string("no error") : s.error().text();
  };
  EXPECT_THAT(bad("links[1].rate"), testing::HasSubstr("item 1 does not exist; the list has 1 items"));
  EXPECT_THAT(bad("node.rate"), testing::HasSubstr("its parent is 'dgx', not a map"));
  EXPECT_THAT(bad("links.rate"), testing::HasSubstr("a list, not a map"));
  EXPECT_THAT(bad("node[0]"), testing::HasSubstr("this is not a list"));
  for (const char* path : {"", ".", "a..b", "a.", "links[", "links[x]", "links[-1]", "[0]"}) {
    EXPECT_THAT(bad(path), testing::StartsWith("--set ")) << path;
  }
  EXPECT_THAT(bad("a", "[1"), testing::HasSubstr("--set a"));
}

TEST(Yaml, UnknownKeysFromTheCommandLineNameTheFlag) {
  auto d = doc("name: a\n");
  ASSERT_TRUE(d.set("nmae", "b").ok());
  MapReader r(d.root());
  r.required("name");
  EXPECT_EQ(r.finish().error().text(), "--set nmae: unknown key 'nmae'; did you mean 'name'?");
}

TEST(Yaml, WideMapsFindTheirKeys) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "k" + std::to_string(i) + ": " + std::to_string(i) + "\n";
  const auto d = doc(text);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(d.root().find("k" + std::to_string(i))->scalar(), std::to_string(i));
  EXPECT_THAT(why(text + "k7: 1\n"), testing::HasSubstr("already given in line 8"));
}

/// Visits every value, so that a damaged tree is detected.
void walk(const YamlNode& node, int depth) {
  ASSERT_LE(depth, 64);
  (void)node.as_rate().ok();
  (void)node.as_int(0, 1).ok();
  (void)node.where();
  for (std::size_t i = 0; i < node.size(); ++i) {
    if (node.kind() == Kind::kMap) ASSERT_TRUE(node.find(node.key(i)));
    walk(node.item(i), depth + 1);
  }
}

void survive(const std::string& text) {
  const auto r = YamlDocument::parse(text, "f.yaml");
  if (r.ok()) walk(r->root(), 0);
}

TEST(Yaml, RandomBytesGiveAnErrorOrATree) {
  RandomStream random(1, "yaml bytes");
  for (int run = 0; run < 20'000; ++run) {
    std::string text;
    for (std::uint64_t n = random.below(80); n > 0; --n) text += static_cast<char>(random.below(256));
    SCOPED_TRACE(run);
    survive(text);
  }
}

TEST(Yaml, RandomYamlCharactersGiveAnErrorOrATree) {
  RandomStream random(2, "yaml characters");
  constexpr std::string_view kAlphabet = "[]{}:,-?&*!|>'\"%@`# \n\t\r ab01~.<=\\";
  for (int run = 0; run < 50'000; ++run) {
    std::string text;
    for (std::uint64_t n = random.below(60); n > 0; --n) text += kAlphabet[random.below(kAlphabet.size())];
    SCOPED_TRACE(text);
    survive(text);
  }
}

TEST(Yaml, MutatedFilesGiveAnErrorOrATree) {
  const std::string good =
      "name: x\nnode:\n  devices:\n    - {name: gpu, count: 8}\n  links:\n    - between: [gpu*, nvswitch0]\n"
      "      rate: 125GB/s\n      latency: 500ns\nfabric: {kind: 'leaf-spine', rate: \"400Gb/s\"}\ntext: |\n  a\n  b\n";
  RandomStream random(3, "yaml mutations");
  for (int run = 0; run < 20'000; ++run) {
    std::string text = good;
    for (std::uint64_t n = 1 + random.below(6); n > 0 && !text.empty(); --n) {
      const std::size_t at = random.below(text.size());
      switch (random.below(4)) {
        case 0:
          text[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          text.erase(at, 1 + random.below(10));
          break;
        case 2:
          text.insert(at, text.substr(random.below(text.size()), random.below(20)));
          break;
        default:
          text.insert(at, 1, "[]{}:-&*!|>'\"\n\t "[random.below(16)]);
          break;
      }
    }
    SCOPED_TRACE(text);
    survive(text);
  }
}

RC_GTEST_PROP(Yaml, SetNeverCrashes, (const std::string& path, const std::string& value)) {
  auto d = doc("a: [{b: 1}]\nc: d\n");
  if (d.set(path, value).ok()) walk(d.root(), 0);
}

TEST(Yaml, AMissingFileIsAnError) {
  const auto r = YamlDocument::load("no/such/file.yaml");
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().text(), "no/such/file.yaml: cannot be read: there is no such file");
  EXPECT_FALSE(YamlDocument::load("src").ok());  // a directory
}

}  // namespace
}  // namespace busbar
