#include "busbar/cli/collective_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/report/plain.h"
#include "busbar/spec/cluster.h"

namespace busbar {
namespace {

using testing::HasSubstr;
using testing::Not;

Prediction row_of(std::uint64_t bytes, const std::string& warning) {
  Prediction p;
  p.call.bytes = Bytes{bytes};
  p.time = Duration::us(10);
  p.warning = warning;
  return p;
}

TEST(CollectiveReport, ARowBelowTheFloorHasAWarningAndTheTableIsWhole) {
  const Cluster cluster = load_cluster("dgx-h100").value();
  const std::vector<Prediction> rows = {row_of(1 << 20, ""), row_of(2 << 20, "ring: below the floor"),
                                        row_of(4 << 20, "")};
  const Document d =
      to_document(CollectiveOptions(), cluster, 8, Collective::kAllReduce, rows, Band(), "as NCCL 2.30 chooses");
  const std::string text = render_text(d, TextOptions());
  EXPECT_THAT(text, HasSubstr("At 2 MiB: ring: below the floor."));
  EXPECT_THAT(text, HasSubstr("1048576"));
  EXPECT_THAT(text, HasSubstr("4194304"));
  EXPECT_THAT(to_json(rows[1], 8, Collective::kAllReduce, cluster.topology).dump(), HasSubstr("\"warning\""));
  EXPECT_THAT(to_json(rows[0], 8, Collective::kAllReduce, cluster.topology).dump(), Not(HasSubstr("\"warning\"")));
}

}  // namespace
}  // namespace busbar
