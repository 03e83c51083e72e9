#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "busbar/questions/collective_question.h"
#include "busbar/spec/cluster.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::CollectiveAnswer;
using questions::CollectiveRequest;
using questions::CollectiveResult;
using testing::HasSubstr;
using testing::Not;

predict::Prediction row_of(std::uint64_t bytes, const std::string& warning) {
  predict::Prediction p;
  p.call.bytes = Bytes{bytes};
  p.time = Duration::us(10);
  p.warning = warning;
  return p;
}

TEST(CollectiveView, ARowBelowTheFloorHasAWarningAndTheTableIsWhole) {
  CollectiveResult r;
  r.gpus = 8;
  r.op = collectives::Collective::kAllReduce;
  r.machine = predict::Predictor::make(spec::load_cluster("dgx-h100").value(), {}, {}).value();
  r.rows = {row_of(1 << 20, ""), row_of(2 << 20, "ring: below the floor"), row_of(4 << 20, "")};
  questions::Answer answer;
  answer.question = questions::find_question("collective");
  answer.request = std::make_shared<CollectiveRequest>();
  answer.result = std::make_shared<const CollectiveAnswer>(r);
  const std::string text = report::render_text(view_of(answer, Extent::kText), report::TextOptions());
  EXPECT_THAT(text, HasSubstr("At 2 MiB: ring: below the floor."));
  EXPECT_THAT(text, HasSubstr("1048576"));
  EXPECT_THAT(text, HasSubstr("4194304"));
}

}  // namespace
}  // namespace busbar::views
