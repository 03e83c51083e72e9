#include "busbar/doctor/first_failure.h"

#include <gtest/gtest.h>

#include "busbar/doctor/fact_tables.h"

namespace busbar::doctor {
namespace {

class FirstFailures : public testing::Test {
 protected:
  void read(const std::string& name, const std::string& text) {
    formats::LineSource lines = formats::LineSource::of_text(text, name);
    tables_.read(lines, evidence_);
  }
  const FactTables tables_ = FactTables::load(spec::Catalog()).value();
  Evidence evidence_;
};

TEST_F(FirstFailures, IsTheEarliestOverFilesWithItsRank) {
  read("a.log", "[2026-11-24 03:12:09] n1:10:20 [0] x.cc:1 NCCL WARN something broke\n");
  read("b.log",
       "n2:11:20 [5] NCCL INFO comm 0x1 rank 37 nranks 64 cudaDev 5 - Init START\n"
       "[2026-11-24 03:12:07] n2:11:20 [5] x.cc:1 NCCL WARN something else broke\n");
  const auto first = first_failure(evidence_);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->who, "rank 37");
  EXPECT_EQ(first->time, "2026-11-24 03:12:07");
  EXPECT_EQ(first->file, "b.log");
}

TEST_F(FirstFailures, AreNotOrderedWithoutTimesOrWithOneRank) {
  read("a.log", "n1:10:20 [0] x.cc:1 NCCL WARN something broke\nn2:10:20 [0] x.cc:1 NCCL WARN something broke\n");
  EXPECT_FALSE(first_failure(evidence_));
  read("b.log", "[2026-11-24 03:12:09] n1:10:20 [0] x.cc:1 NCCL WARN broke\n");
  EXPECT_FALSE(first_failure(evidence_));
}

}  // namespace
}  // namespace busbar::doctor
