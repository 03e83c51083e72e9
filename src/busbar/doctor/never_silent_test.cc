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

TEST_F(NeverSilent, OnAFatalLineOfAnyFamily) {
  constexpr std::array<const char*, 48> kLines{
      "DDP expects same model across all ranks, but Rank 0 has 24 params, while rank 1 has inconsistent 23 params.",
      "op.preamble.length <= op.nbytes. 8 vs 4",
      "Mismatched allreduce tensor shapes: One rank sent a tensor of shape [1], but another rank sent a tensor of "
      "shape [2].",
      "The node was low on resource: ephemeral-storage.",
      "nvidia-fabricmanager.service: Main process exited, code=exited, status=1/FAILURE",
      "modprobe: FATAL: Module nvidia_peermem not found in directory /lib/modules/5.15.0-91-generic",
      "NVRM: RmInitAdapter failed! (0x26:0xffff:1290)",
      "NVRM: Xid (PCI:0000:3b:00): 31, pid=4711, name=python, Ch 00000008, intr 00000000. MMU Fault",
      "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
      "amdgpu 0000:03:00.0: amdgpu: device lost from bus!",
      "amdgpu 0000:03:00.0: amdgpu: ring sdma0 timeout, signaled seq=5, emitted seq=7",
      "pcieport 0000:00:01.0: DPC: containment event, status:0x1f01 source:0x0000",
      "CUDA error: CUDA-capable device(s) is/are busy or unavailable",
      "CUDA error: unspecified launch failure",
      "HIP error: unknown error",
      "THCudaCheck FAIL file=THCStorage.cu line=58 error=2 : out of memory",
      "(GPU_0_bfc) ran out of memory trying to allocate 2.00GiB",
      "CUDNN_STATUS_ALLOC_FAILED",
      "device >= 0 && device < num_gpus INTERNAL ASSERT FAILED",
      "** server can't find worker-1: NXDOMAIN",
      "UNAVAILABLE: DNS resolution failed for node-0:1234",
      "DMAR: DRHD: handling fault status reg 2",
      "DMAR: [DMA Read NO_PASID] Request device [3b:00.0] fault addr 0x0",
      "Failed status 12: wr_id 0 syndrom 0x81",
      "Couldn't allocate MR",
      "IBV_WC_RETRY_EXC_ERR",
      "ORTE does not know how to route a message to the specified daemon located on the indicated node:",
      "one of the processes terminated badly; aborting",
      "select.c:1  UCX  ERROR no active messages transport to <no debug data>: Destination is unreachable",
      "torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /default_pg/0//cpu//0",
      "TCP client failed to connect/validate to host 10.0.0.1:29500 - timed out (try=1, timeout=600000ms)",
      "Port 29500 is already in use",
      "Unable to open device mlx5_0: Permission denied",
      "INFO: task python:4711 blocked for more than 120 seconds.",
      "watchdog: BUG: soft lockup - CPU#3 stuck for 22s!",
      "mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 7: be00000000800400",
      "nfs: server fs1 not responding, still trying",
      "python[4711]: segfault at 10 ip 00007f0000000000 sp 00007ffc00000000 error 4 in libnccl.so.2",
      "double free or corruption (out)",
      "srun: error: Unable to allocate resources: Invalid generic resource (gres) specification",
      "docker: Error response from daemon: could not select device driver",
      "Warning  FailedScheduling  default-scheduler  0/8 nodes are available: 8 Insufficient nvidia.com/gpu.",
      "ray.exceptions.RayTaskError: x",
      "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: something",
      "ModuleNotFoundError: No module named 'apex'",
      "RuntimeError: environment variable RANK expected, but not set",
      "|CCL_ERROR| something",
      "non-zero status: 7 something of NVSHMEM"};
  for (std::size_t i = 0; i < kLines.size(); ++i) {
    const std::string line = std::string(kPrefixes[i % kPrefixes.size()]) + kLines[i] + "\n";
    for (const std::string& before : {std::string(), kSound}) {
      const Diagnosis d = judge(before + line);
      ASSERT_FALSE(d.findings.empty()) << line;
      EXPECT_NE(d.findings.front().severity, Severity::kNote) << line;
    }
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
