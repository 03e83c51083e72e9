#include "busbar/base/record.h"

#include <gtest/gtest.h>

#include <cmath>

namespace busbar::record_test {

struct Hop {
  std::string link;
  double latency_ns = 0;
  std::optional<double> GBps;
};
const Record& record_of(const Hop*) {
  static const Record record("hop", {{"link", &Hop::link, "", "the link"},
                                     {"latency_ns", &Hop::latency_ns, "ns", "first bit in to first bit out"},
                                     {"GBps", &Hop::GBps, "GB/s", "payload rate"}});
  return record;
}

struct Machine {
  std::uint32_t gpus = 8;
  std::vector<std::string> set;
  std::optional<std::int64_t> zero;
};
const Record& record_of(const Machine*) {
  static const Record record("machine", {{"gpus", &Machine::gpus, "", "GPUs"}, {"set", &Machine::set, "", "changes"}});
  return record;
}

struct Path {
  bool live = false;
  Machine machine;
  std::vector<Hop> hops;
  Named<double> parts_ns;
  std::string engine = "flow";
  std::optional<std::string> note;
};
const Record& record_of(const Path*) {
  static const Record record(
      "path", joined({{{"live", &Path::live, "", "this host"}},
                      fields_inside(&Path::machine),
                      {{"hops", &Path::hops, "", "links in order"},
                       {"parts_ns", &Path::parts_ns, "ns", "latency by part"},
                       Field{"engine", &Path::engine, "", "how it is simulated"}.among({"flow", "packet"}),
                       Field{"note", &Path::note, "", "a remark"}.or_absent()}}));
  return record;
}

struct Course {
  std::uint32_t flows = 3;
  Rows<Hop> hops;
};
const Record& record_of(const Course*) {
  static const Record record(
      "run", {{"flows", &Course::flows, "", "flows"}, Field("hops", &Course::hops, "", "made when read").by_rows()});
  return record;
}

Path full() {
  Path p;
  p.live = true;
  p.machine = {4, {"a=1", "b=2"}};
  p.hops = {{"nvlink", 350.5, 387.0}, {"pcie", 1, {}}};
  p.parts_ns = {{"wire", 2.5}, {"cable", 1}};
  p.note = "x";
  return p;
}

TEST(Record, WritesFieldsInTheOrderOfTheTable) {
  EXPECT_EQ(to_json(full()).dump(),
            R"({"live":true,"gpus":4,"set":["a=1","b=2"],"hops":[{"link":"nvlink","latency_ns":350.5,"GBps":387.0},)"
            R"({"link":"pcie","latency_ns":1.0,"GBps":null}],"parts_ns":{"wire":2.5,"cable":1.0},"engine":"flow",)"
            R"("note":"x"})");
}

TEST(Record, LeavesOutWhatIsMarkedAndEmpty) {
  EXPECT_EQ(to_json(Path()).dump(), R"({"live":false,"gpus":8,"set":[],"hops":[],"parts_ns":{},"engine":"flow"})");
}

TEST(Record, ReadsBackWhatItWrote) {
  const auto back = from_json<Path>(to_json(full()));
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(to_json(*back).dump(), to_json(full()).dump());
}

TEST(Record, KeepsWhatJsonDoesNotName) {
  const auto p = from_json<Path>(Json{{"gpus", 3}});
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p->machine.gpus, 3u);
  EXPECT_EQ(p->engine, "flow");
}

TEST(Record, TakesOneValueForAListOfOne) {
  const auto p = from_json<Path>(Json{{"set", "a=1"}});
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p->machine.set, std::vector<std::string>{"a=1"});
}

TEST(Record, RefusesWhatDoesNotFitAndNamesThePlace) {
  const auto why = [](const Json& j) { return from_json<Path>(j).error().text(); };
  EXPECT_EQ(why(Json{{"gpu", 3}}), "there is no 'gpu' in a path; did you mean 'gpus'?");
  EXPECT_EQ(why(Json{{"gpus", 1.5}}), "gpus: 1.5 is not a whole number");
  EXPECT_EQ(why(Json{{"gpus", -1}}), "gpus: -1 is not between 0 and 4294967295");
  EXPECT_EQ(why(Json{{"gpus", "8"}}), "gpus: \"8\" is not a whole number");
  EXPECT_EQ(why(Json{{"gpus", NAN}}), "gpus: null is not a whole number");
  EXPECT_EQ(why(Json{{"live", 1}}), "live: 1 is not true or false");
  EXPECT_EQ(why(Json{{"hops", Json::array({Json{{"latency_ns", "x"}}})}}), "hops[0].latency_ns: \"x\" is not a number");
  EXPECT_EQ(why(Json{{"engine", "fluid"}}), "engine: 'fluid' is not one of flow, packet");
  EXPECT_EQ(why(Json("x")), "\"x\" is not an object");
}

TEST(Record, SchemaHasDefaultsOfRequestsAndRequiresFieldsOfResults) {
  const Path defaults;
  const Json request = schema_of(record_of(&defaults), &defaults);
  EXPECT_EQ(request["properties"]["gpus"]["default"].dump(), "8");
  EXPECT_EQ(request["properties"]["engine"]["enum"].dump(), R"(["flow","packet"])");
  EXPECT_EQ(request["properties"]["parts_ns"]["unit"].text(), "ns");
  EXPECT_EQ(request["required"].size(), 0u);
  const Json result = schema_of(record_of(&defaults), nullptr);
  EXPECT_EQ(result["required"].dump(), R"(["live","gpus","set","hops","parts_ns","engine"])");
}

TEST(Record, TakesAmongNumbersOnlyThoseNamed) {
  const Record record("layout", {Field("zero", &Machine::zero, "", "shards").among({"0", "1"})});
  Machine m;
  EXPECT_TRUE(read_json_into(Json{{"zero", 1}}, record, &m).ok());
  EXPECT_EQ(read_json_into(Json{{"zero", 2}}, record, &m).error().text(), "zero: '2' is not one of 0, 1");
  EXPECT_EQ(schema_of(record, &m)["properties"]["zero"]["enum"].dump(), "[0,1,null]");
}

TEST(Record, SchemaNumbersTheWordsOfARequest) {
  const Record record("layout", {Field("zero", &Machine::zero, "", "shards").as_word(Field::Word::kAlso)});
  const Machine m;
  EXPECT_EQ(schema_of(record, &m)["properties"]["zero"]["position"].dump(), "0");
}

TEST(Record, GivesTheNumbersOfAPath) {
  const Path p = full();
  const auto at = [&](const char* path) { return numbers_at(record_of(&p), &p, path); };
  EXPECT_EQ(at("hops.latency_ns"), (std::vector<double>{350.5, 1}));
  EXPECT_EQ(at("gpus"), std::vector<double>{4});
  ASSERT_TRUE(at("hops.GBps"));
  EXPECT_TRUE(std::isnan(at("hops.GBps")->back()));
  for (const char* none : {"hops.link", "hops", "hop.latency_ns", "gpus.x", "engine", ""})
    EXPECT_FALSE(at(none)) << none;
}

TEST(Record, MakesRowsWhenTheyAreReadAndLeavesOutAField) {
  Course run;
  run.hops.count = 2;
  run.hops.make = [](std::size_t i) { return Hop{"link" + std::to_string(i), static_cast<double>(i), {}}; };
  EXPECT_EQ(to_json(run)["hops"].size(), 2u);
  EXPECT_EQ(to_json(run)["hops"].values()[1]["link"].text(), "link1");
  EXPECT_EQ(numbers_at(record_of(&run), &run, "hops.latency_ns"), (std::vector<double>{0, 1}));
  const Field* const hops = record_of(&run).find("hops");
  EXPECT_TRUE(hops->row_by_row);
  EXPECT_EQ(to_json(record_of(&run), &run, hops).dump(), R"({"flows":3,"hops":0})");
}

TEST(Field, IsSpelledAsItsName) {
  EXPECT_EQ((Field{"global_batch", &Machine::gpus, "", ""}.flag_names()), "--global-batch");
  EXPECT_EQ((Field{"gpus", &Machine::gpus, "", ""}.spelled("-g,--gpus").flag_names()), "-g,--gpus");
}

}  // namespace busbar::record_test
