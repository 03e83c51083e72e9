#include "busbar/runtime/session.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "busbar/collectives/every_schedule.h"

namespace busbar::runtime {
namespace {

using ::testing::HasSubstr;

/// All schedules of 2 to 8 ranks with a plan, one division of the ranks into groups each.
void for_every_run(const std::function<void(const collectives::BuiltCase&)>& f) {
  std::set<std::string> seen;
  collectives::for_every_schedule([&](const collectives::BuiltCase& c) {
    if (c.schedule.ranks < 2 || c.schedule.ranks > 8) return;
    if (c.schedule.root > 1 || (collectives::grouped(c.schedule.algorithm) && c.group_size < 2)) return;
    f(c);
  });
}

TaskResult run_one(const Executable& program, const Filling& filling, const SessionOptions& options = {}) {
  auto results = run_tasks({{&program, filling, 2, 1}}, options);
  EXPECT_TRUE(results.ok()) << results.error().text();
  return results.ok() ? results->front() : TaskResult{};
}

TEST(Session, ResultsThatGoPastTheCachesAreTheSame) {
  for (const char* algorithm : {"ring", "tree", "direct"})
    for (const bool in_place : {false, true}) {
      const auto s = collectives::build_schedule(algorithm, collectives::Collective::kAllReduce, 2, 1, 0).value();
      const Executable program = compile(collectives::plan_of(s, in_place).value(), {}).value();
      for (const Stores stores : {Stores::kFaster, Stores::kPastCaches})
        for (const Transport transport : {Transport::kThreads, Transport::kShm})
          for (const ElementType type : {ElementType::kFloat, ElementType::kHalf, ElementType::kInt8}) {
            Task task{&program, {type, Reduction::kSum, 17'001}, 2, 2};
            task.stores = stores;
            const auto r = run_tasks({task}, {transport});
            ASSERT_TRUE(r.ok()) << r.error().text();
            EXPECT_EQ(r->front().wrong, 0u) << algorithm << in_place << name_of(type);
          }
    }
}

/// Programs that run one after another on the same threads.
struct Programs {
  std::vector<Executable> executables;
  std::vector<std::string> names;
};

TEST(Session, EveryAlgorithmGivesExactlyWhatItsCollectiveDemands) {
  std::set<std::string> ran;
  std::map<std::uint32_t, Programs> by_actors;
  for_every_run([&](const collectives::BuiltCase& c) {
    for (const bool shared : {true, false}) {
      Executable program = compile(collectives::plan_with_reducers(c.schedule, false).value(), {shared}).value();
      Programs& alike = by_actors[program.plan.actors()];
      alike.executables.push_back(std::move(program));
      alike.names.push_back(c.text() + (shared ? " in shared memory" : " by messages"));
    }
    ran.insert(c.schedule.algorithm + collectives::name_of(c.schedule.op));
  });
  EXPECT_GT(ran.size(), 40u);
  for (const auto& [actors, programs] : by_actors) {
    std::vector<Task> tasks;
    for (const Executable& x : programs.executables)
      tasks.push_back({&x, {ElementType::kInt32, Reduction::kSum, 3}, 2, 1});
    const auto results = run_tasks(tasks, {});
    ASSERT_TRUE(results.ok()) << actors << " actors: " << results.error().text();
    for (std::size_t i = 0; i < tasks.size(); ++i) EXPECT_EQ((*results)[i].wrong, 0u) << programs.names[i];
  }
}

TEST(Session, EveryTypeAndReductionIsExact) {
  const collectives::Schedule ring = collectives::build_ring(collectives::Collective::kAllReduce, 3).value();
  for (const bool average : {false, true}) {
    const Executable program = compile(collectives::plan_of(ring, false).value(), {true, average}).value();
    for (int t = 0; t <= static_cast<int>(ElementType::kBfloat16); ++t)
      for (int r = 0; r <= static_cast<int>(Reduction::kAvg); ++r) {
        const Filling filling{static_cast<ElementType>(t), static_cast<Reduction>(r), 100};
        if (average != (filling.reduction == Reduction::kAvg)) continue;
        EXPECT_EQ(run_one(program, filling).wrong, 0u) << name_of(filling.type) << " " << name_of(filling.reduction);
      }
  }
}

/// The same plan whose step `s` writes somewhere else, or nothing: it is not proved, but runs.
Executable misled(const Executable& program, std::uint32_t s) {
  Executable out = program;
  const collectives::ExecutionPlan& plan = program.plan;
  for (std::uint32_t i = plan.writes.begin[s]; i < plan.writes.begin[s + 1]; ++i) {
    collectives::PlanSlice& w = out.plan.writes.values[i];
    const std::uint32_t held = collectives::chunks_in(plan, w.rank, w.buffer);
    if (held > plan.steps[s].count) w.first = (w.first + 1) % (held - plan.steps[s].count + 1);
  }
  return out;
}

TEST(Session, AStepThatWritesToAnotherPlaceIsNoticed) {
  int tried = 0, noticed = 0;
  for_every_run([&](const collectives::BuiltCase& c) {
    if (c.schedule.ranks > 4 || c.schedule.root > 0) return;
    const Executable program = compile(collectives::plan_with_reducers(c.schedule, false).value(), {}).value();
    for (std::uint32_t s = 0; s < program.plan.steps.size(); s += 5) {
      const Executable bad = misled(program, s);
      if (bad.plan.writes.values == program.plan.writes.values || collectives::prove(bad.plan).ok()) continue;
      ++tried;
      noticed += run_one(bad, {ElementType::kFloat, Reduction::kSum, 8}).wrong > 0;
    }
  });
  EXPECT_GT(tried, 100);
  EXPECT_EQ(noticed, tried);
}

TEST(Session, ASingleByteIsNoticed) {
  const Executable program =
      compile(
          collectives::plan_of(collectives::build_ring(collectives::Collective::kAllGather, 2).value(), false).value(),
          {})
          .value();
  const Filling filling{ElementType::kInt8, Reduction::kSum, 64};
  std::vector<std::byte> memory(program.chunks_of(0) * filling.chunk_bytes());
  const TestData data(program, filling);
  data.fill(0, memory.data());
  EXPECT_GT(data.wrong(0, memory.data()), 100u) << "an output that no step has written";
}

TEST(Session, ProcessesGiveTheSame) {
  for (const std::uint32_t ranks : {2u, 5u}) {
    const Executable program =
        compile(
            collectives::plan_of(
                collectives::build_schedule("tree", collectives::Collective::kAllReduce, ranks, 1, 0).value(), false)
                .value(),
            {})
            .value();
    const TaskResult r = run_one(program, {ElementType::kHalf, Reduction::kMax, 50}, {Transport::kShm});
    EXPECT_EQ(r.wrong, 0u);
    EXPECT_EQ(r.seconds.size(), ranks);
    EXPECT_GT(r.slowest_s(), 0);
  }
}

/// Each algorithm of 4 ranks without shared memory.
std::vector<Executable> programs_of_four() {
  std::vector<Executable> programs;
  for_every_run([&](const collectives::BuiltCase& c) {
    if (c.schedule.ranks != 4 || c.schedule.root > 0) return;
    programs.push_back(compile(collectives::plan_with_reducers(c.schedule, false).value(), {false}).value());
  });
  return programs;
}

/// The first with more data than a socket takes at once, or a library sends without asking.
std::vector<Task> tasks_of(const std::vector<Executable>& programs) {
  std::vector<Task> tasks;
  for (const Executable& p : programs) tasks.push_back({&p, {ElementType::kInt32, Reduction::kSum, 20}, 3, 1});
  tasks.front().filling.chunk_elements = 500'000;
  return tasks;
}

TEST(Session, SocketsGiveTheSameForEveryAlgorithm) {
  const std::vector<Executable> programs = programs_of_four();
  const std::vector<Task> tasks = tasks_of(programs);
  for (const std::uint32_t sockets : {1u, 3u}) {
    const auto results = run_tasks(tasks, {Transport::kTcp, sockets});
    ASSERT_TRUE(results.ok()) << results.error().text();
    for (std::size_t i = 0; i < tasks.size(); ++i)
      EXPECT_EQ((*results)[i].wrong, 0u) << programs[i].plan.name << " over " << sockets;
  }
}

/// UCX and libfabric where this host has them, else a skipped test.
class Carriers : public testing::TestWithParam<Transport> {
 protected:
  void SetUp() override {
    setenv("UCX_NET_DEVICES", "lo", 0);
    setenv("FI_PROVIDER", "tcp;ofi_rxm", 0);
    if (const Status s = usable(GetParam()); !s.ok()) GTEST_SKIP() << s.error().text();
  }
};
INSTANTIATE_TEST_SUITE_P(Libraries, Carriers, testing::Values(Transport::kUcx, Transport::kOfi),
                         [](const auto& p) { return name_of(p.param); });

TEST_P(Carriers, GiveTheSameForEveryAlgorithm) {
  const std::vector<Executable> programs = programs_of_four();
  const std::vector<Task> tasks = tasks_of(programs);
  const auto results = run_tasks(tasks, {GetParam()});
  ASSERT_TRUE(results.ok()) << results.error().text();
  for (std::size_t i = 0; i < tasks.size(); ++i) EXPECT_EQ((*results)[i].wrong, 0u) << programs[i].plan.name;
}

TEST(Session, TimesOfStepsAreInTheOrderOfWaits) {
  const Executable program =
      compile(
          collectives::plan_of(collectives::build_ring(collectives::Collective::kAllReduce, 3).value(), false).value(),
          {})
          .value();
  Task task{&program, {ElementType::kFloat, Reduction::kSum, 100}};
  task.record = true;
  const auto results = run_tasks({task}, {});
  ASSERT_TRUE(results.ok());
  const auto& steps = results->front().steps;
  ASSERT_EQ(steps.size(), program.plan.steps.size());
  for (std::uint32_t s = 0; s < steps.size(); ++s)
    for (const std::uint32_t a : program.plan.after.row(s)) EXPECT_LE(steps[a].end_ns, steps[s].end_ns);
}

/// The children of this process.
std::vector<pid_t> children() {
  std::vector<pid_t> out;
  DIR* proc = opendir("/proc");
  while (const dirent* e = readdir(proc)) {
    const pid_t pid = static_cast<pid_t>(std::atoi(e->d_name));
    if (pid <= 0) continue;
    FILE* f = std::fopen(("/proc/" + std::string(e->d_name) + "/stat").c_str(), "r");
    if (f == nullptr) continue;
    int parent = 0;
    if (std::fscanf(f, "%*d %*s %*c %d", &parent) == 1 && parent == getpid()) out.push_back(pid);
    std::fclose(f);
  }
  closedir(proc);
  return out;
}

/// Sends a signal to one rank of a run that would take very long.
Result<std::vector<TaskResult>> run_and_send(int signal) {
  const Executable program =
      compile(
          collectives::plan_of(collectives::build_ring(collectives::Collective::kAllReduce, 3).value(), false).value(),
          {})
          .value();
  const Task endless{&program, {ElementType::kFloat, Reduction::kSum, 1000}, 1'000'000'000};
  std::jthread sender([&] {
    std::vector<pid_t> ranks;
    while (ranks.size() < 3) ranks = children();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kill(*std::max_element(ranks.begin(), ranks.end()), signal);
  });
  return run_tasks({endless}, {.transport = Transport::kShm, .timeout_s = 0.3});
}

TEST(Session, AKilledRankEndsAllAndIsNamed) {
  const auto results = run_and_send(SIGKILL);
  ASSERT_FALSE(results.ok());
  EXPECT_THAT(results.error().message, HasSubstr("was killed by signal 9"));
  EXPECT_THAT(results.error().message, HasSubstr("waited for rank"));
  EXPECT_TRUE(children().empty());
}

TEST(Session, AStoppedRankIsNamed) {
  const auto results = run_and_send(SIGSTOP);
  ASSERT_FALSE(results.ok());
  EXPECT_THAT(results.error().message, HasSubstr("is stopped by signal 19"));
  EXPECT_TRUE(children().empty());
}

}  // namespace
}  // namespace busbar::runtime
