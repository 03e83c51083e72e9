// Messages between ranks and work on ranks, with dependencies. GOAL files, traces of sends and receives, and plans of
// steps become such graphs. It knows ranks and bytes, but no links.
#pragma once

#include <cstdint>
#include <memory>

#include "busbar/base/csr.h"
#include "busbar/base/result.h"
#include "busbar/base/units.h"
#include "busbar/collectives/execution_plan.h"
#include "busbar/program/channel_nics.h"

namespace busbar::program {

/// The event of a task that a dependent task waits for.
enum class TaskEvent : std::uint8_t {
  kStarted,
  kSent,  ///< the last byte has left; of work: it has ended
  kDone,  ///< the last byte has arrived
};

struct TaskEdge {
  std::uint32_t task = 0;
  TaskEvent event = TaskEvent::kDone;
  auto operator<=>(const TaskEdge&) const = default;
};

/// A message from one rank to another, or work on one rank.
struct MessageTask {
  static constexpr std::uint32_t kSwitch = 0xffff'ffffu;  ///< as `from` or `to`: the switch next to the other end
  static constexpr std::uint32_t kNoUnit = 0xffff'ffffu;
  std::uint32_t from = 0, to = 0;  ///< ranks; equal for work
  Bytes bytes{0};
  Duration work{};               ///< duration of the work
  std::uint32_t unit = kNoUnit;  ///< work of one rank on one unit is sequential, in the order in which it becomes ready
  std::uint16_t channel = 0;     ///< chooses NICs
  std::uint32_t step = kNoUnit;  ///< of the plan that it was made of
  bool is_work() const { return from == to; }
};

struct MessageGraph {
  std::uint32_t ranks = 0;
  std::vector<MessageTask> tasks;
  Csr<TaskEdge> after;                        ///< per task
  std::shared_ptr<const ChannelNics> nics{};  ///< as CollectiveCall::nics has them
};

/// How parts of a buffer follow each other through a plan.
enum class LoopOrder : std::uint8_t {
  kThreadByThread,  ///< a thread runs all its steps on one part before the next part, as MSCCL's thread blocks do
  kStepByStep,      ///< each step takes the next part when it is through with the one before, as our pipelines do
};

/// A plan of S = `bytes` as messages. The buffer is cut into `loops` parts, which follow each other through the plan in
/// that order. Copies and additions within a rank take no time. Error kUnsupported above 4 million messages.
Result<MessageGraph> messages_of(const collectives::ExecutionPlan& plan, Bytes bytes, std::uint32_t loops,
                                 LoopOrder order = LoopOrder::kThreadByThread);

/// The same messages; each rank takes `work` before what waits for nothing.
MessageGraph after_work(const MessageGraph& graph, Duration work);

}  // namespace busbar::program
