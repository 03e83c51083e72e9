// The C interface: what other languages see.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "busbar/api/busbar_c.h"
#include "busbar/api/internal/interrupt_watch.h"
#include "busbar/base/check.h"
#include "busbar/base/run_files.h"
#include "busbar/formats/json_text.h"

namespace busbar::api {
namespace {

const char* const kPath = R"({"question": "path", "cluster": "dgx-h100", "a": "gpu0", "b": "gpu7"})";

Json called(const std::string& request) {
  char* const text = busbar_call(request.c_str());
  const auto json = formats::parse_json(text, "answer");
  busbar_free(text);
  EXPECT_TRUE(json.ok());
  return *json;
}
std::string error_of(const std::string& request) { return called(request)["error"]["text"].text(); }

TEST(CInterface, AnswersARequest) {
  const Json j = called(kPath);
  EXPECT_EQ(j["schema"].text(), "busbar.path/1");
  EXPECT_EQ(j["type"].text(), "NVL");
}

TEST(CInterface, AnswersWhatCommandsAboutStepsAnswer) {
  const Json plan = called(R"({"question": "plan", "cluster": "dgx-h100", "model": "llama3-8b", "global_batch": 16,
                               "tp": "8", "zero": "1", "recompute": "none", "schedule": "1f1b"})");
  EXPECT_EQ(plan["schema"].text(), "busbar.plan/5");
  EXPECT_EQ(plan["best"]["layout"]["tp"].number(), 8);
  const Json survive = called(R"({"question": "survive", "cluster": "dgx-h100:2", "for": "all_reduce", "size": "1M"})");
  EXPECT_EQ(survive["schema"].text(), "busbar.survive/1");
  EXPECT_GT(survive["rows"].size(), 0u);
  const Json cost = called(R"({"question": "cost", "cluster": "dgx-h100", "upgrade": "10K", "saves": 5})");
  EXPECT_EQ(cost["payback"]["usd"].number(), 10000);
  EXPECT_NE(error_of(R"({"question": "cost", "cluster": "dgx-h100", "pue": 0.9})").find("pue"), std::string::npos);
  const Json compare = called(R"({"question": "compare", "machines": ["links"]})");
  EXPECT_EQ(compare["of"].text(), "links");
  EXPECT_NE(error_of(R"({"question": "compare", "machines": ["dgx-h100:2"], "model": "llama3-8b", "tokens": "x"})")
                .find("tokens: 'x' is no number above 0"),
            std::string::npos);
}

TEST(CInterface, AnswersOtherQuestionsWithTheJsonOfTheirCommands) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"question": "topo", "cluster": "dgx-h100", "bandwidth": true})", "busbar.topo/1"},
      {R"({"question": "collective", "cluster": "dgx-h100", "collective": "all_reduce", "max_bytes": "1K"})",
       "busbar.collective/1"},
      {R"({"question": "rings", "cluster": "dgx-h100:2"})", "busbar.rings/1"},
      {R"({"question": "expect", "cluster": "dgx-h100", "thresholds": true, "collective": "all_reduce",
           "max_bytes": "1M"})",
       "busbar.expect/1"},
      {R"({"question": "flows", "cluster": "dgx-h100:2", "sizes": "websearch", "load": 0.2, "until": "50us"})",
       "busbar.flows/1"},
      {R"({"question": "flows", "cluster": "dgx-h100:2", "sizes": "websearch", "load": 0.2, "until": "50us",
           "engine": "packet"})",
       "busbar.flows/1"}};
  for (const auto& [request, schema] : rows) EXPECT_EQ(called(request)["schema"].text(), schema) << request;
}

TEST(CInterface, GivesErrorsWithPlaceAndRemedy) {
  EXPECT_NE(error_of("{").find("request:1:2: not JSON"), std::string::npos);
  EXPECT_NE(error_of("[]"), "");
  EXPECT_NE(error_of(R"({"cluster": "dgx-h100"})").find("question"), std::string::npos);
  EXPECT_NE(error_of(R"({"question": "pat"})").find("did you mean 'path'"), std::string::npos);
  EXPECT_NE(error_of(R"({"question": "path"})").find("'cluster' is missing"), std::string::npos);
  EXPECT_NE(error_of(R"({"question": "path", "cluster": "dgx-h1000", "a": "0", "b": "1"})").find("dgx-h100"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"question": "path", "cluster": 8, "a": "0", "b": "1"})").find("is not a text"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"question": "path", "cluster": "dgx-h100", "a": NaN})"), "");
  EXPECT_NE(error_of(R"({"question": "path", "cluster": "dgx-h100", "a": "0", "b": "1", "nodes": 1e400})"), "");
  EXPECT_NE(error_of(R"({"question": "path", "cluster": "dgx-h100", "a": "0", "b": "1", "nodes": 1e300})"), "");
  EXPECT_NE(error_of(R"({"question": "path", "cluster": "caf\u00e9.yaml", "a": "0", "b": "1"})"), "");
  EXPECT_EQ(busbar_call(nullptr) == nullptr, false);
}

TEST(CInterface, AnswersQuestionsThatAreNoMachine) {
  const Json catalog = called(R"({"question": "catalog", "name": "links/nvlink4"})");
  ASSERT_EQ(catalog["entries"].size(), 1u);
  EXPECT_EQ(catalog["entries"].values()[0]["name"].text(), "nvlink4");
  const Json judged = called(R"({"question": "doctor", "files": "dgx-h100:2"})");
  EXPECT_EQ(judged["schema"].text(), "busbar.doctor/1");
  EXPECT_FALSE(judged["ok"].empty());
  EXPECT_NE(error_of(R"({"question": "new"})").find("--servers"), std::string::npos);
}

TEST(CInterface, AnswersQuestionsMadeOfCommandLines) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("busbar_c_api_sweep." + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const auto study = [&](const char* name, const char* text) {
    std::ofstream(folder / name) << text;
    return R"({"question": "sweep", "file": ")" + (folder / name).string() + "\"}";
  };
  const Json swept =
      called(study("two.yaml", "command: collective dgx-h100 all_reduce\ngrid:\n  -b: [1M, 16M]\n  -e: [16M]\n"));
  EXPECT_EQ(swept["rows"].natural(), 2u);
  EXPECT_EQ(swept["failed"].natural(), 0u);
  EXPECT_NE(error_of(study("wrong.yaml", "command: colective dgx-h100\ngrid:\n  -b: [1M]\n")).find("no command"),
            std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(CInterface, KeepsAnAnswerForItsParts) {
  busbar_answer* const a = busbar_ask(kPath, nullptr);
  EXPECT_EQ(busbar_answer_status(a), 0);
  char* const text = busbar_answer_text(a, 80);
  EXPECT_NE(std::strstr(text, "gpu0 to node0.gpu7"), nullptr);
  busbar_free(text);
  char* const page = busbar_answer_html(a);
  EXPECT_NE(std::strstr(page, "<html"), nullptr);
  busbar_free(page);
  double ns[8] = {};
  EXPECT_EQ(busbar_answer_numbers(a, "hops.latency_ns", ns, 8), 2);
  EXPECT_GT(ns[0], 0);
  EXPECT_EQ(busbar_answer_numbers(a, "hops.speed", ns, 8), -1);
  busbar_answer_free(a);
}

TEST(CInterface, AnErrorHasJsonOnly) {
  busbar_answer* const a = busbar_ask("{}", nullptr);
  EXPECT_EQ(busbar_answer_status(a), 2);
  EXPECT_EQ(busbar_answer_text(a, 80), nullptr);
  EXPECT_EQ(busbar_answer_html(a), nullptr);
  EXPECT_EQ(busbar_answer_numbers(a, "hops", nullptr, 0), -1);
  busbar_answer_free(a);
}

TEST(CInterface, AnswersSeveralThreadsAtOnce) {
  const std::string one = called(kPath).dump();
  std::vector<std::string> answers(4);
  std::vector<std::thread> threads;
  for (std::string& out : answers) threads.emplace_back([&out] { out = called(kPath).dump(); });
  for (std::thread& t : threads) t.join();
  for (const std::string& answer : answers) EXPECT_EQ(answer, one);
}

TEST(CInterface, RefusesToBeAskedByItsCallback) {
  const RunFiles of_a_call;
  EXPECT_NE(error_of(kPath).find("a callback cannot ask"), std::string::npos);
}

TEST(CInterface, LetsFailedChecksThrowOnceItWasAsked) {
  called(kPath);
  EXPECT_THROW(BUSBAR_CHECK(false), std::logic_error);
}

int interrupts = 0;

TEST(CInterface, SigintStopsACallAndReachesTheProgram) {
  std::signal(SIGINT, [](int) { ++interrupts; });
  {
    TimeLimit limit(0), other(0);
    const InterruptWatch watch(&limit), second(&other);
    std::raise(SIGINT);
    EXPECT_NE(*limit.flag(), 0);
    EXPECT_EQ(*other.flag(), 0);
  }
  std::raise(SIGINT);
  EXPECT_EQ(interrupts, 2);
  std::signal(SIGINT, SIG_DFL);
}

TEST(CInterface, ATimeLimitStops) {
  TimeLimit limit(0.01);
  for (int i = 0; i < 1000 && *limit.flag() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_NE(*limit.flag(), 0);
}

TEST(CInterface, DescribesEveryQuestion) {
  char* const names = busbar_schema(nullptr);
  const auto all = formats::parse_json(names, "names");
  busbar_free(names);
  for (const Json& name : all->values()) {
    char* const text = busbar_schema(name.text().c_str());
    const auto schema = formats::parse_json(text, "schema");
    busbar_free(text);
    for (const char* side : {"request", "answer"})
      for (const Json::Member& field : (*schema)[side]["properties"].members())
        EXPECT_FALSE(field.key != "schema" && field.value["description"].text().empty()) << name.text() << field.key;
  }
}

}  // namespace
}  // namespace busbar::api
