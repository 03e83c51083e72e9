// Runs programs on data: every actor is a thread or a process.
//
//   const Schedule ring = build_ring(Collective::kAllReduce, 4).value();
//   const Executable program = compile(plan_of(ring, false).value(), {}).value();
//   const auto results = run_tasks({{&program, {.chunk_elements = 1024}}}, {});
//   if (results.ok()) use(results->front().wrong, results->front().slowest_s());
#pragma once

#include <csignal>
#include <cstdint>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/runtime/player.h"
#include "busbar/runtime/transport.h"

namespace busbar::runtime {

/// Where results go that other ranks read. Past the caches takes half the time where the cores of two ranks share none,
/// and up to 2.5 times as long where they do.
enum class Stores : std::uint8_t { kFaster, kToCaches, kPastCaches };

/// A program, the data it runs on, and how often.
struct Task {
  const Executable* program = nullptr;
  Filling filling;
  std::uint32_t iterations = 1, warmup = 0;
  bool check = true;    ///< runs once more on new data and compares every element
  bool record = false;  ///< runs once more and keeps the times of steps
  /// kFaster: both are tried if there are `warmup` runs, memory is shared, each rank has a core, and its data fit in
  /// caches; else kToCaches.
  Stores stores = Stores::kFaster;
};

struct TaskResult {
  std::vector<double> seconds;  ///< per rank, of one iteration
  std::uint64_t wrong = 0;      ///< elements
  std::vector<StepTime> steps;  ///< per step of the plan; of a recorded task

  /// Of the rank that takes longest: a root of a gather works, while the others are done at once.
  double slowest_s() const;
};

class HostGroup;

struct SessionOptions {
  Transport transport = Transport::kThreads;
  std::uint32_t sockets = 1;  ///< of kTcp, per pair of ranks; threads of the plan take turns
  double timeout_s = 30;      ///< without a step of any rank, the run ends and names who stands still
  const volatile std::sig_atomic_t* stop = nullptr;  ///< ends the run once it is not 0; null: nothing does
  /// This process is one rank of these, which must have met for the same transport; null: all ranks are threads or
  /// processes made here, and sockets are of the loopback interface.
  HostGroup* hosts = nullptr;
};

/// All tasks, one after another. On several hosts each process of the group calls it with the same tasks; rank 0 gets
/// the results of all, another one its own. Errors: kIo names the rank that was killed, ended or stopped, and what the
/// others waited for. Processes that are started have ended when it returns; no name in a file system is ever made.
/// Precondition: programs read the memory of other ranks only as their transport allows.
Result<std::vector<TaskResult>> run_tasks(const std::vector<Task>& tasks, const SessionOptions& options);

}  // namespace busbar::runtime
