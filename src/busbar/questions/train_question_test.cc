#include "busbar/questions/train_question.h"

#include <gtest/gtest.h>

#include "busbar/questions/question.h"

namespace busbar::questions {
namespace {

Answer asked(const Json& request) {
  Result<Answer> a = ask(*find_question("train"), request);
  EXPECT_TRUE(a.ok()) << (a.ok() ? "" : a.error().text());
  return a.ok() ? std::move(*a) : Answer{};
}

TEST(TrainQuestion, AnswersFromJsonWithPartsThatSumToTheStep) {
  const Answer a =
      asked(Json{{"cluster", "dgx-h100"}, {"model", "llama3-8b"}, {"tp", 2}, {"global_batch", 16}, {"brief", true}});
  const Json j = a.json();
  EXPECT_EQ(j["schema"].text(), "busbar.train/2");
  EXPECT_EQ(a.status, 0);
  double sum = 0;
  for (const Json::Member& part : j["breakdown_ps"].members()) sum += part.value.number();
  EXPECT_EQ(sum, j["step_time_ps"].number());
  const double waits = j["breakdown_s"]["slowest_gpu"].number(), balanced = j["balanced_step_time_s"].number();
  EXPECT_NEAR(waits, 0.005 * 1.43 * balanced, 0.01 * waits);  // 0.5 % times the expected largest of 8 normal values
  EXPECT_TRUE(numbers_at(*a.record, a.data, "calls.exposed_s"));
}

TEST(TrainQuestion, NamesTheCommandOfEachRowWithoutACommandLine) {
  const Answer a =
      asked(Json{{"cluster", "dgx-h100"}, {"model", "llama3-8b"}, {"global_batch", 16}, {"tp_list", "2,4"}});
  const Json j = a.json();
  ASSERT_EQ(j["layouts"].size(), 2u);
  for (const Json& row : j["layouts"].values())
    EXPECT_EQ(row["command"].text(),
              "busbar train --cluster dgx-h100 --model llama3-8b --global-batch 16 --tp " + row["layout"]["tp"].dump());
}

TEST(TrainQuestion, SaysWhyAStepDoesNotFit) {
  const Answer a = asked(Json{
      {"cluster", "dgx-h100"}, {"model", "llama3-70b"}, {"tp", 1}, {"zero", 0}, {"global_batch", 8}, {"brief", true}});
  EXPECT_EQ(a.status, 1);
  ASSERT_TRUE(a.refused);
  EXPECT_EQ(a.refused->code, ErrorCode::kDoesNotFit);
  EXPECT_FALSE(a.json()["fits"].truth());
}

TEST(TrainQuestion, RefusesListsBesideWhatConcernsOneStep) {
  const auto a = ask(*find_question("train"),
                     Json{{"cluster", "dgx-h100"}, {"model", "llama3-8b"}, {"tp_list", "2,4"}, {"measured", "2s"}});
  ASSERT_FALSE(a.ok());
  EXPECT_EQ(a.error().where.path, "measured");
}

}  // namespace
}  // namespace busbar::questions
