// A graph of messages run to its end on max-min fair rates.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/id.h"
#include "busbar/base/result.h"
#include "busbar/engine/engine.h"
#include "busbar/program/message_graph.h"

namespace busbar::engine {

struct TaskOutcome {
  SimTime start, sent, done;
  Duration latency;                                    ///< from sent to done: links and the overhead of a send
  std::uint32_t released_by = kNone32;                 ///< the task that it waited for last
  topology::LinkId held_by = kNone<topology::LinkId>;  ///< the link that set its rate at the end
};

struct MessageRun {
  std::vector<TaskOutcome> tasks;
  SimTime end;
  Duration algorithm_floor;                            ///< largest load / wire rate
  lowering::Bound bound;                               ///< along the chain of tasks that ended last
  Duration chain_latency, chain_transfer, chain_work;  ///< of that chain; what is missing is waiting for units
  std::uint64_t messages = 0, bytes = 0;
};

/// Messages share links and limits of devices max-min fairly. Each crosses what a send of a schedule crosses
/// (SendRoutes), takes its latency after its last byte has left, and is never faster than model.channel_rate.
/// model.launch is not added.
/// Errors: kUnreachable with the pair; kUnsupported for reduction in a switch where none can; kInvalid when tasks wait
/// for each other, when a rank has no GPU, or interrupted() once `stop` is set.
Result<MessageRun> run_messages(const routing::Router& router, const routing::Placement& placement,
                                const program::ProtocolModel& model, program::Protocol protocol,
                                const program::MessageGraph& graph, const Shortcuts& shortcuts = {},
                                StopFlag stop = nullptr);

/// A link that a message crosses, and the bytes there per byte of it.
struct MessageLink {
  topology::LinkId link{};
  double share = 1;
};
/// The links of a graph's messages in the order in which they cross them. Messages of one channel between the same ends
/// have one way. Of adaptive routing: equal shares.
struct MessageWays {
  Csr<MessageLink> links;         ///< per way
  std::vector<std::uint32_t> of;  ///< way of each task; kNone32: work
};
/// Errors: those of run_messages.
Result<MessageWays> ways_of_messages(const routing::Router& router, const routing::Placement& placement,
                                     const program::ProtocolModel& model, program::Protocol protocol,
                                     const program::MessageGraph& graph);

}  // namespace busbar::engine
