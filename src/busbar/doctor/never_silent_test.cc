// No message of a library and no end of a job goes unread, whatever a launcher or logger puts before it.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "busbar/doctor/diagnose.h"

namespace busbar::doctor {
namespace {

constexpr std::array<const char*, 7> kPrefixes{"",
                                               "3: ",
                                               "[1,3]<stderr>:",
                                               "[rank3]: ",
                                               "2026-11-24T03:12:07.123456789Z stderr F ",
                                               "(WorkerDict pid=4711, ip=10.0.0.3) ",
                                               "worker-0: "};

/// A format of printf, or a pattern of a table, with a word in each of its places.
std::string with_words(const std::string& format) {
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    const bool place = format[i] == '%' || format[i] == '{';
    if (!place) {
      out += format[i];
      continue;
    }
    i = format[i] == '{' ? format.find('}', i) : format.find_first_of("diuxXpsfgceEG", i + 1);
    out += '7';
    if (i == format.npos) break;
  }
  return out;
}

/// The text in the first quotes after `at`.
std::string quoted_after(const std::string& line, std::size_t at) {
  std::string out;
  for (std::size_t i = line.find('"', at) + 1; i < line.size() && line[i] != '"'; ++i) {
    if (line[i] == '\\') ++i;
    out += line[i];
  }
  return out;
}

/// All formats of catalog/evidence/library-warnings.yaml, with a family and without.
std::vector<std::string> warning_formats() {
  std::vector<std::string> out;
  std::ifstream in("catalog/evidence/library-warnings.yaml");
  for (std::string line; std::getline(in, line);)
    for (const char* const mark : {"- {line: ", "# no family: ", "# as above: "})
      if (const std::size_t at = line.find(mark); at != line.npos) out.push_back(with_words(quoted_after(line, at)));
  return out;
}

class NeverSilent : public testing::Test {
 protected:
  Evidence read(const std::string& text) const {
    Evidence evidence;
    formats::LineSource lines = formats::LineSource::of_text(text, "job.log");
    tables_.read(lines, evidence);
    return evidence;
  }
  Diagnosis judge(const std::string& text) const { return diagnose(read(text), rules_, tables_); }
  const spec::Catalog catalog_;
  const FactTables tables_ = FactTables::load(catalog_).value();
  const std::vector<Rule> rules_ = load_rules(catalog_).value();
};

const std::string kSound =
    "n1:10:20 [0] NCCL INFO NCCL version 2.27.3+cuda12.8\n"
    "n1:10:20 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>\n"
    "n1:10:20 [0] NCCL INFO comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1000 - Init COMPLETE\n";

TEST_F(NeverSilent, OnAnyWarningOfALibrary) {
  const std::vector<std::string> all = warning_formats();
  ASSERT_GT(all.size(), 1900u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string line =
        std::string(kPrefixes[i % kPrefixes.size()]) + "n1:10:20 [3] src/x.cc:7 NCCL WARN " + all[i] + "\n";
    const bool harmless = !read(line).named(kHarmlessFact).empty();
    EXPECT_NE(judge(kSound + line).findings.empty(), !harmless) << line;
  }
}

TEST_F(NeverSilent, OnTheEndOfAFailedJob) {
  constexpr std::array<const char*, 34> kEnds{
      "Traceback (most recent call last):",
      "RuntimeError: CUDA error: device-side assert triggered",
      "RuntimeError: something of the program",
      "AssertionError",
      "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:93, unhandled system error",
      "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes",
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
      "E1127 04:04:39.346000 1288 api.py:986] failed (exitcode: 1) local_rank: 1 (pid: 1314) of binary: "
      "/usr/bin/python",
      "  exitcode  : -11 (pid: 1314)",
      "[launch.py:315:sigkill_handler] python exits with return code = -9",
      "srun: error: n1: task 3: Exited with exit code 1",
      "srun: error: n1: tasks 0-7: Killed",
      "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM Killed.",
      "slurmstepd: error: *** JOB 4711 ON n1 CANCELLED AT 2026-11-24T10:00:00 DUE TO TIME LIMIT ***",
      "mpirun noticed that process rank 3 with PID 0 on node n1 exited on signal 11 (Segmentation fault).",
      "prterun noticed that process rank 3 with PID 4711 on node n1 exited on signal 9 (Killed).",
      "mpirun detected that one or more processes exited with non-zero status, thus causing the job to be terminated.",
      "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD",
      "[n1:04711] *** Process received signal ***",
      "Segmentation fault (core dumped)",
      "Aborted (core dumped)",
      "Bus error (core dumped)",
      "bash: line 1:  4711 Killed                  python train.py",
      "Fatal Python error: Segmentation fault",
      "terminate called after throwing an instance of 'c10::Error'",
      "[n1:4711:0:4711] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x10)",
      "n1: Test NCCL failure common.cu:777 'unhandled system error'",
      "n1: Test CUDA failure common.cu:294 'out of memory'",
      "train.cc:12: main: Assertion `x' failed.",
      "    Reason:       OOMKilled",
      "[1764212674.1] [n1:4711:0]  ib_mlx5_log.c:171  UCX  ERROR Transport retry count exceeded on mlx5_0:1/IB",
      "[E1127 04:04:39.346000 ProcessGroupNCCL.cpp:552] [Rank 3] Collective operation failed",
      "Fatal error in MPI_Init: Other MPI error",
      "NCCL failure train.cu:41 'unhandled system error'"};
  for (const char* const end : kEnds)
    for (const char* const prefix : kPrefixes)
      for (const std::string& before : {std::string(), kSound}) {
        const Diagnosis d = judge(before + prefix + end + "\n");
        EXPECT_FALSE(d.findings.empty()) << prefix << end;
        if (d.findings.empty()) continue;
        EXPECT_NE(d.findings.front().severity, Severity::kNote) << prefix << end;
      }
}

TEST_F(NeverSilent, OnALineThatOnlySpeaksOfAnError) {
  for (const char* const line : {"myprog: cannot open the card", "Exits early: device not found", "job failed"}) {
    const Diagnosis d = judge(kSound + line + "\n");
    ASSERT_EQ(d.findings.size(), 1u) << line;
    EXPECT_EQ(d.findings.front().rule, "unknown-error");
    EXPECT_EQ(d.findings.front().severity, Severity::kNote);
  }
  EXPECT_EQ(judge(kSound + "job failed\nAborted (core dumped)\n").findings.front().rule, "unknown-failure");
}

TEST_F(NeverSilent, ButOnASoundJob) { EXPECT_TRUE(judge(kSound).findings.empty()); }

}  // namespace
}  // namespace busbar::doctor
