#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "busbar/base/text.h"
#include "busbar/doctor/diagnose.h"

namespace busbar::doctor {
namespace {

class Rules : public testing::Test {
 protected:
  Evidence read(const std::vector<std::string>& texts) const {
    Evidence evidence;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      formats::LineSource source = formats::LineSource::of_text(texts[i], "file" + std::to_string(i));
      tables_.read(source, evidence);
    }
    return evidence;
  }
  /// The finding of a rule; null if it does not fire.
  static const Finding* find(const Diagnosis& d, const std::string& rule) {
    for (const Finding& f : d.findings)
      if (f.rule == rule) return &f;
    return nullptr;
  }
  Diagnosis judge(const std::vector<std::string>& texts) const { return diagnose(read(texts), rules_, tables_); }

  const spec::Catalog catalog_;
  const FactTables tables_ = FactTables::load(catalog_).value();
  const std::vector<Rule> rules_ = load_rules(catalog_).value();
};

std::string without_lines(const std::string& text, const std::string& file, const std::vector<EvidenceLine>& lines) {
  std::string out;
  int number = 0;
  for (const std::string_view line : split_at(text, '\n')) {
    ++number;
    const bool named = std::any_of(lines.begin(), lines.end(),
                                   [&](const EvidenceLine& e) { return e.file == file && e.line == number; });
    if (!named) out += std::string(line) + '\n';
  }
  return out;
}

TEST_F(Rules, FireOnTheirExampleAndNotWithoutTheLinesThatTheyName) {
  for (const Rule& rule : rules_) {
    SCOPED_TRACE(rule.id);
    const Diagnosis found = judge(rule.shows);
    const Finding* const finding = find(found, rule.id);
    EXPECT_NE(finding, nullptr);
    if (finding == nullptr) continue;
    EXPECT_EQ(finding->severity, rule.severity);
    EXPECT_FALSE(finding->evidence.empty());
    EXPECT_THAT(finding->title + finding->explanation, testing::Not(testing::HasSubstr("{")));
    std::vector<std::string> rest;
    for (std::size_t i = 0; i < rule.shows.size(); ++i)
      rest.push_back(without_lines(rule.shows[i], "file" + std::to_string(i), finding->evidence));
    EXPECT_EQ(find(judge(rest), rule.id), nullptr) << "still fires without its evidence";
  }
}

TEST_F(Rules, AreSilentAndOkOnTheirHealthyExample) {
  for (const Rule& rule : rules_) {
    const Diagnosis found = judge(rule.silent);
    EXPECT_EQ(find(found, rule.id), nullptr) << rule.id;
    EXPECT_THAT(found.ok, testing::Contains(rule.id)) << "unknown is not ok";
  }
}

TEST_F(Rules, AreUnknownWithoutEvidence) {
  const Diagnosis found = judge({"nothing that a rule reads\n"});
  EXPECT_TRUE(found.findings.empty());
  EXPECT_TRUE(found.ok.empty());
  EXPECT_EQ(found.unknown.size(), rules_.size());
  for (const UnknownRule& u : found.unknown) EXPECT_FALSE(u.ask.empty()) << u.rule << " waits for " << u.missing;
}

TEST_F(Rules, HaveNamesOfTheirOwnAndHideOnlyRulesThatExist) {
  std::set<std::string> ids;
  for (const Rule& rule : rules_) EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
  for (const Rule& rule : rules_)
    for (const std::string& hidden : rule.hides) EXPECT_TRUE(ids.contains(hidden)) << rule.id << " hides " << hidden;
}

TEST_F(Rules, ReadOnlyFactsThatSomeTableStates) {
  const auto check = [&](const Rule& rule, const std::vector<Clause>& clauses) {
    for (const Clause& c : clauses) EXPECT_FALSE(tables_.tables_of(c.fact).empty()) << rule.id << ": " << c.fact;
  };
  for (const Rule& rule : rules_) check(rule, rule.when), check(rule, rule.unless);
}

TEST_F(Rules, NameOnlyThePartsThatDiffer) {
  const Diagnosis found =
      judge({"machine part node0.gpu0 has 450 GB/s of scale-up links\n"
             "machine part node0.gpu1 has 450 GB/s of scale-up links\n"
             "machine part node0.gpu3 has 225 GB/s of scale-up links\n"});
  const Finding* const finding = find(found, "machine-nvlink-uneven");
  ASSERT_NE(finding, nullptr);
  ASSERT_EQ(finding->candidates.size(), 1u);
  EXPECT_EQ(finding->part, "node0.gpu3");
  EXPECT_EQ(finding->evidence.size(), 2u) << "the odd one and a usual one";
}

TEST_F(Rules, CompareSequenceNumbersAsNumbers) {
  const auto line = [](int rank, int number) {
    return "[PG ID 0 PG GUID 0(default_pg) Rank " + std::to_string(rank) +
           "]  failure detected by watchdog at work sequence id: 1 PG status: last enqueued work: " +
           std::to_string(number) + ", last completed work: 1\n";
  };
  const Diagnosis found = judge({line(0, 10) + line(1, 9)});
  const Finding* const finding = find(found, "watchdog-behind");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->part, "rank 1");
}

TEST_F(Rules, OnlyNoteWhatTheCommandOfATestSets) {
  const Diagnosis typed =
      judge({"mpirun -np 16 -x NCCL_IB_HCA=mlx5_0 -x NCCL_IB_DISABLE=1 ./build/all_reduce_perf -b 8 -e 1G\n"
             "n1:10:20 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1\n"});
  ASSERT_NE(find(typed, "ib-disabled"), nullptr);
  EXPECT_EQ(find(typed, "ib-disabled")->severity, Severity::kNote);
  const Diagnosis other = judge({"mpirun -np 16 -x NCCL_IB_HCA=mlx5_0 -x NCCL_IB_DISABLE=1 python train.py\n"});
  EXPECT_EQ(find(other, "ib-disabled")->severity, Severity::kFail);
}

TEST_F(Rules, BlameNoSlowSettingForTheEndOfAJob) {
  const Diagnosis found =
      judge({"export NCCL_P2P_DISABLE=1\n# device 0 [0x07] NVIDIA A100-SXM4-80GB\n"
             "n1:10:20 [0] src/x.cc:7 NCCL WARN something new\nAborted (core dumped)\n"});
  EXPECT_EQ(found.findings.front().rule, "unknown-warning");
  EXPECT_EQ(found.findings.front().severity, Severity::kFail);
  EXPECT_EQ(find(found, "p2p-disabled")->severity, Severity::kWarn);
}

TEST_F(Rules, TakeNothingThatTheJobSurvivedForItsFailure) {
  const std::string closed =
      "n1:10:20 [0] misc/socket.cc:50 NCCL WARN Call to recv from 10.0.0.2<4711> failed : Broken pipe\n";
  const std::string progress = "{'loss': 2.3, 'epoch': 0.1}\n";
  EXPECT_EQ(find(judge({closed + progress}), "peer-closed")->severity, Severity::kNote);
  EXPECT_EQ(find(judge({progress + closed}), "peer-closed")->severity, Severity::kFail) << "no progress after it";
  EXPECT_EQ(find(judge({closed + progress + "Aborted (core dumped)\n"}), "peer-closed")->severity, Severity::kFail);
}

TEST_F(Rules, ReadTheWarningThatAnExceptionRepeats) {
  for (const char* const said :
       {"ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 1 'invalid argument'\n",
        "INTERNAL: failed. Last NCCL warning(error): 'Cuda failure 1 'invalid argument''\n"})
    EXPECT_NE(find(judge({said}), "cuda-warning"), nullptr) << said;
}

TEST_F(Rules, PutTheEarlierCauseFirst) {
  const std::string port = "OSError: [Errno 98] Address already in use\n";
  const std::string name = "socket.gaierror: [Errno -2] Name or service not known\n";
  EXPECT_EQ(judge({port + name}).findings.front().rule, "port-in-use");
  EXPECT_EQ(judge({name + port}).findings.front().rule, "name-not-found");
}

TEST_F(Rules, NoteASettingWithoutSignOfWhatItForbids) {
  EXPECT_EQ(judge({"NCCL_IB_DISABLE=1\nNCCL_P2P_DISABLE=1\n"}).findings.front().severity, Severity::kNote);
}

TEST_F(Rules, SurviveLinesCutAnywhere) {
  constexpr std::size_t kEvery = 3;  // of the places, others in each text: all of them take a minute under sanitizers
  std::size_t texts = 0;
  for (const Rule& rule : rules_)
    for (const std::string& text : rule.shows)
      for (std::size_t end = texts++ % kEvery; end < text.size(); end += kEvery) judge({text.substr(0, end)});
}

}  // namespace
}  // namespace busbar::doctor
