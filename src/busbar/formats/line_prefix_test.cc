#include "busbar/formats/line_prefix.h"

#include <gtest/gtest.h>

#include "busbar/formats/fixture.h"
#include "busbar/formats/lines.h"
#include "busbar/formats/perf_table.h"

namespace busbar::formats {
namespace {

constexpr LabelStyles kEveryStyle{true, true, true, true};
constexpr std::string_view kText = "#       size  count";

TEST(LinePrefix, IsWhatRuntimesAndLaunchersWrite) {
  for (const std::string prefix : {"2026-11-24T12:00:00.123456789Z ",
                                   "2026-11-24T12:00:00+01:00 ",
                                   "2026-11-24 12:00:00,123 ",
                                   "[pod/trainer-0/main] ",
                                   "[pod/trainer-0/main] 2026-11-24T12:00:00.1Z ",
                                   "2026-11-24T12:00:00.123456789Z stdout F ",
                                   "0: ",
                                   " 3: ",
                                   "[1,0]<stdout>:",
                                   "[1,0]<stdout>: ",
                                   "[prterun-gpu01-77@1,12]<stderr>: ",
                                   "Tue Nov 24 12:00:00 2026<stdout>:",
                                   "Tue Nov 24 12:00:00 2026[1,0]<stdout>:",
                                   "[default0]:",
                                   "[rank0]:",
                                   "[rank0]: ",
                                   "[default0]:[rank0]:",
                                   "2026-11-24T12:00:00Z [default0]:[rank0]:",
                                   "worker-0  | ",
                                   "Nov 24 12:00:00 gpu-a01 all_reduce_perf[77]: ",
                                   "Nov  4 12:00:00.123456 gpu-a01 kernel: ",
                                   "2026-11-24T12:00:00+0100 gpu-a01 srun[77]: ",
                                   "gpu-a01: ",
                                   "gpu-a01: 3: ",
                                   "[0] ",
                                   "[   12.345678] ",
                                   "[2026-11-24 12:00:00] ",
                                   "[Tue Nov 24 12:00:00 2026] "}) {
    const LinePrefix p = prefix_of(prefix + std::string(kText), kEveryStyle);
    EXPECT_EQ(p.length, prefix.size()) << prefix;
  }
}

TEST(LinePrefix, KeepsWhatItSays) {
  LinePrefix p = prefix_of("[pod/trainer-1/main] 2026-11-24T12:00:00.1Z [rank12]:x", {});
  EXPECT_EQ(p.time, "2026-11-24T12:00:00.1Z");
  EXPECT_EQ(p.source(), "pod/trainer-1/main rank12");
  EXPECT_EQ(p.rank, 12);
  p = prefix_of("[1,7]<stderr>:x", {});
  EXPECT_EQ(p.rank, 7);
  EXPECT_EQ(p.stream, "stderr");
  p = prefix_of("Nov 24 12:00:00 gpu-a01 kernel: NVRM: Xid", {});
  EXPECT_EQ(p.host, "gpu-a01");
  EXPECT_EQ(p.time, "Nov 24 12:00:00");
  p = prefix_of("gpu-a02:  3: x", kEveryStyle);
  EXPECT_EQ(p.host, "gpu-a02");
  EXPECT_EQ(p.rank, 3);
  EXPECT_TRUE(prefix_of("2026-11-24T12:00:00Z stdout P x", {}).partial);
}

TEST(LinePrefix, RayNamesTheWorkerOfALine) {
  for (const std::string_view line : {"(WorkerDict pid=4711, ip=10.0.0.3) x", "(RayTrainWorker pid=12) x"}) {
    const LinePrefix p = prefix_of(line, {});
    EXPECT_EQ(line.substr(p.length), "x");
    EXPECT_EQ(p.source(), line.substr(1, line.find(')') - 1));
  }
  for (const std::string_view line : {"(pid=12) x", "(a worker pid=12) x", "(worker pid=12", "(worker pid=x) y",
                                      "(worker pid=12 x) y", "(", "( pid="})
    EXPECT_EQ(prefix_of(line, {}).length, 0u) << line;
}

TEST(LinePrefix, IsNoPartOfWhatProgramsSay) {
  for (const std::string_view line : {"gpu-a01:1234:1240 [0] NCCL INFO Bootstrap : Using eth0",

                                      "  1048576  262144  float  sum  -1  50.1",
                                      "0000:17:00.0 3D controller: NVIDIA",
                                      "GPU 0: NVIDIA H100 80GB",
                                      "[1](248a0703)\t\"S-1\"[3]",
                                      "CA 'mlx5_0'",
                                      "Link 0: 26.562 GB/s",
                                      "NCCL version 2.27.3+cuda12.8",
                                      "mlx5_0: port 1 is down",
                                      "2026-11-24",
                                      "Nov rank",
                                      "[rank]: x",
                                      "[]",
                                      "[",
                                      "",
                                      " ",
                                      "12:",
                                      "Tue Nov",
                                      "| GPU  Name |",
                                      "HF_TOKEN=x",
                                      "[E1124 12:00:00.000000 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog"})
    EXPECT_EQ(prefix_of(line, {}).length, 0u) << line;
}

TEST(LinePrefix, ALabelIsOneThatIsRepeated) {
  std::string srun, list, hosts, keys;
  for (int i = 0; i < 8; ++i) {
    srun += std::to_string(i % 2) + ": text\n";
    list += std::to_string(i) + ": eth" + std::to_string(i) + ": <UP>\n";
    hosts += "gpu-a01: text\n";
    keys += "gpu" + std::to_string(i) + ": H100\n";
  }
  EXPECT_TRUE(label_styles(srun).number);
  EXPECT_FALSE(label_styles(list).number) << "a list with numbers";
  EXPECT_TRUE(label_styles(hosts).host);
  EXPECT_FALSE(label_styles(keys).host) << "one line for each";
  EXPECT_FALSE(label_styles(hosts).number || label_styles(hosts).bar || label_styles(hosts).bracket);
  std::string both;
  for (int i = 0; i < 4; ++i) both += "gpu-a01: 3: text\n";
  EXPECT_TRUE(label_styles(both).host && label_styles(both).number);
  EXPECT_FALSE(label_styles("text\n" + srun + list + list + "text\n").host);
}

TEST(LinePrefix, NoSampleOfALogHasOne) {
  for (const char* const name :
       {"nccl-log/nebius-2x8-h100-sd.log", "nccl-tests/superbench-nccl_allreduce.log",
        "nvidia-smi-topo/dstack-8xh100-1nic.txt", "ibnetdiscover/superbench-ibnetdiscover.txt"}) {
    const std::string text = fixture(name);
    const LabelStyles l = label_styles(text.substr(0, 64 << 10));
    EXPECT_FALSE(l.number || l.bracket || l.host || l.bar) << name;
  }
}

TEST(Lines, PartsOfTheCriAreJoinedByStream) {
  const std::string text =
      "2026-11-24T12:00:00Z stdout P one \n2026-11-24T12:00:01Z stderr F error\n2026-11-24T12:00:02Z stdout P two \n"
      "2026-11-24T12:00:03Z stdout F three\n2026-11-24T12:00:04Z stdout P last\n";
  LineSource source = LineSource::of_text(text, "t");
  source.skip_prefixes();
  std::vector<std::string> lines;
  for (std::string_view line; source.next(line);) lines.emplace_back(line);
  EXPECT_EQ(lines, (std::vector<std::string>{"error", "one two three", "last"}));
}

TEST(Lines, ColoursAreRemoved) {
  const std::string text = "\x1b[32m[rank0]:\x1b[0m \x1b[1;31mred\x1b[0m text\x1b\n";
  LineSource source = LineSource::of_text(text, "t");
  source.skip_prefixes();
  std::string_view line;
  ASSERT_TRUE(source.next(line));
  EXPECT_EQ(line, "red text");
  EXPECT_EQ(source.prefix().rank, 0);
}

/// Two tables, line by line in turn, as two pods print them.
TEST(PerfTable, TablesOfSeveralSourcesMayAlternate) {
  const std::string text = fixture("nccl-tests/superbench-nccl_allreduce.log");
  std::string mixed;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    for (const char* const pod : {"[pod/a-0/main] ", "[pod/a-1/main] "})
      mixed += pod + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  LineSource one = LineSource::of_text(text, "one"), two = LineSource::of_text(mixed, "two");
  const auto alone = read_perf_table(one), both = read_perf_table(two);
  ASSERT_TRUE(alone.ok() && both.ok());
  ASSERT_EQ(both->tables.size(), 2 * alone->tables.size());
  for (const PerfTable& t : both->tables) {
    ASSERT_EQ(t.rows.size(), alone->tables[0].rows.size());
    for (std::size_t i = 0; i < t.rows.size(); ++i)
      EXPECT_EQ(t.rows[i].size_bytes, alone->tables[0].rows[i].size_bytes);
    EXPECT_EQ(t.ranks.size(), alone->tables[0].ranks.size());
  }
}

TEST(PerfTable, TheCommandBeforeATableNamesItsOperation) {
  const std::string table =
      "# nThread 1 nGpus 8 minBytes 8\n#  size count type redop root time algbw busbw error\n"
      "  1024  256  float  none  -1  30.0  0.03  0.03  0\n";
  const auto named = [&](const std::string& before) {
    const std::string text = before + table;
    LineSource source = LineSource::of_text(text, "t");
    return read_perf_table(source).value().tables[0].collective;
  };
  EXPECT_EQ(named("+ mpirun -np 16 ./build/all_gather_perf -b 8 -e 8G\n"), "all_gather");
  EXPECT_EQ(named("$ /opt/nccl-tests/build/alltoall_perf\n"), "alltoall");
  EXPECT_EQ(named("for t in all_gather_perf reduce_scatter_perf; do ./build/all_gather_perf\nreduce_perf -b\n"), "");
  EXPECT_EQ(named("+ srun -n 8 build/alltoall_perf_mpi -b 8\n"), "alltoall");
  EXPECT_EQ(named("my_perf -b 8\n"), "");
  EXPECT_EQ(named("all_gather_perf_old -b 8\n"), "");
  EXPECT_EQ(named(""), "");
  const std::string two = "$ ./all_gather_perf\n" + table + "$ ./alltoall_perf\n" + table;
  LineSource source = LineSource::of_text(two, "t");
  const PerfResults both = read_perf_table(source).value();
  ASSERT_EQ(both.tables.size(), 2u);
  EXPECT_EQ(both.tables[1].collective, "alltoall");
}

}  // namespace
}  // namespace busbar::formats
