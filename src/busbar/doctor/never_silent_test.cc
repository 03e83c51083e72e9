// No message of a library and no end of a job goes unread, whatever a launcher or logger puts before it.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
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

/// The text after `key: `, with or without quotes; empty if the row has no such key.
std::string value_of(const std::string& row, const std::string& key) {
  const std::size_t at = row.find(" " + key + ": ");
  if (at == row.npos) return {};
  const std::size_t from = at + key.size() + 3;
  return row[from] == '"' ? quoted_after(row, from) : row.substr(from, row.find_first_of(",}", from) - from);
}

/// A line that a pattern of a table matches: each capture holds the beginning that it asks for, or a number.
std::string line_of(const std::string& pattern) {
  std::string out;
  for (std::size_t i = pattern[0] == '^' ? 1 : 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      out += pattern[i];
      continue;
    }
    const std::size_t end = pattern.find('}', i), sign = pattern.find(':', i);
    const std::string asked = sign < end ? pattern.substr(sign + 1, end - sign - 1) : "";
    out += asked.empty() || asked == "#" ? "7" : asked;
    i = end;
  }
  return out;
}

/// Lines of programs and kernels that state a failure, one for each row of catalog/evidence that a rule alone reads.
std::vector<std::string> failure_lines() {
  std::vector<std::string> out;
  for (const auto& file : std::filesystem::directory_iterator("catalog/evidence")) {
    std::ifstream in(file.path());
    for (std::string row; std::getline(in, row);) {
      const std::string fact = value_of(row, "fact"), pattern = quoted_after(row, row.find("{line: "));
      const bool states = fact.starts_with("failed.") || fact == "kernel.stuck" || fact == "kernel.segfault" ||
                          fact == "kernel.machine_check" || fact == "kernel.dma_fault" || fact == "job.failed" ||
                          fact == "storage.failed" || fact == "module.refused" || fact == "program.not_started";
      if (row.find("- {line: ") == row.npos || !states || row.find("inside: true") != row.npos) continue;
      out.push_back(line_of(pattern) + (pattern.ends_with("}") ? " 7 " : " ") + value_of(row, "has"));
    }
  }
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

TEST_F(NeverSilent, OnAnyRowThatStatesAFailure) {
  const std::vector<std::string> all = failure_lines();
  ASSERT_GT(all.size(), 400u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string prefix = kPrefixes[i % kPrefixes.size()], line = prefix + all[i] + "\n";
    std::string log;  // some labels are known by their repetition
    for (int k = 0; k < 3; ++k) log += prefix + "text\n";
    EXPECT_FALSE(judge(log + line).findings.empty()) << line;
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
  constexpr std::array<const char*, 77> kLines{
      "|ERR!  ERR! ERR!           ERR! / ERR! |      0MiB /  81920MiB |   ERR!          Default |",
      "mlx5_1 port 1 ==> ib1 (Down)",
      "link mlx5_0/1 state DOWN physical_state DISABLED netdev ens6np0",
      "| PCIe                      | Fail                                           |",
      "[Nov 01 2026 10:00:00] [ERROR] [tid 4711] detected NVLink training failure on NVSwitch 0 port 12",
      "   State=DOWN*+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A",
      "mlx5_core 0000:3b:00.0: wait_func:1137:(pid 4711): CREATE_MKEY(0x200) timeout. Will cause a leak of a command "
      "resource",
      "mlx5_core 0000:3b:00.0: Port module event[error]: module 0, Cable error, Power budget exceeded",
      "mce: CPU12: Package temperature above threshold, cpu clock throttled (total events = 7)",
      "pci 0000:3b:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link at 0000:3a:00.0 "
      "(capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)",
      "nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client",
      "nvme nvme0: I/O 123 QID 4 timeout, aborting",
      "LustreError: 11-0: fs1-OST0001-osc: operation ost_read to node 10.0.0.9@o2ib failed: rc = -107",
      "[E1127 ProcessGroupNCCL.cpp:480] To avoid data inconsistency, we are taking the entire process down.",
      "torch.distributed.elastic.rendezvous.api.RendezvousClosedError",
      "INFO 11-27 04:04:39 shm_broadcast.py:733] No available block found in 60 second.",
      "E1127 rendezvous.cc:100] This thread has been waiting for `initialize clique` for 20 seconds and may be stuck.",
      "Terminating process because the JAX distributed service detected fatal errors.",
      "DeepEP timeout for combine receive, RDMA: 1, nvl: 2, src RDMA: 0",
      "Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:364 'invalid argument'",
      "[n1:4711] OPAL ERROR: Unreachable in file ext3x_client.c at line 112",
      "srun: error: Couldn't find the specified plugin name for mpi/pmix looking at all files",
      "Warning  UnexpectedAdmissionError  1s  kubelet  Allocate failed due to no healthy devices present",
      "failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=0",
      "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by ./all_reduce_perf)",
      "ray.exceptions.NodeDiedError: Task failed because the node it was running on is dead or unavailable.",
      "ERROR Failed to connect to Aggregation Manager (sharp_am) in sharp_create_job.",
      "ib_mlx5_log.c:177  Remote access error on mlx5_0:1/IB (synd 0x13 vend 0x88 hw_synd 0/0)",
      "step 10 loss: nan grad_norm: nan",
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
