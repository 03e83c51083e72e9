// GOAL: sends, receives and work of ranks with dependencies, as text. Source of the format: Hoefler, Siebert,
// Lumsdaine, "Group operation assembly language", ICPP 2009, and LogGOPSim's examples.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/formats/imported.h"
#include "busbar/formats/lines.h"
#include "busbar/program/message_graph.h"
#include "busbar/program/program.h"

namespace busbar::formats {

enum class GoalKind : std::uint8_t { kSend, kReceive, kCalc };
struct GoalOp {
  GoalKind kind{};
  std::uint32_t rank = 0;
  std::int32_t peer = -1;  ///< -1: any source
  std::int32_t tag = 0;    ///< -1: any
  std::uint32_t cpu = 0;
  std::uint16_t nic = 0;     ///< of sends: becomes the channel
  std::uint64_t amount = 0;  ///< bytes, or ns of work
  int line = 0;
};
struct GoalEdge {
  std::uint32_t op = 0, before = 0;
  bool on_start = false;  ///< irequires
};

struct GoalProgram {
  std::string file;
  std::uint32_t ranks = 0;
  program::CollectiveCall
      call;  ///< whose messages these are, as write_goal() states in a comment; no algorithm: not stated
  std::vector<GoalOp> ops;
  std::vector<GoalEdge> edges;  ///< by op
  std::vector<UnknownPart> unknown;
};

bool looks_like_goal(std::string_view head);

/// Reads line by line. Memory: 40 bytes per operation, 12 per edge, and the labels of one rank.
Result<GoalProgram> read_goal(LineSource& lines);

/// The k-th send from one rank to another with a tag matches the k-th receive there. Then a receive from any source,
/// or with any tag, takes the first unmatched send in the file. Error if a receive has no send, or a send no
/// receive.
Result<program::MessageGraph> messages_of(const GoalProgram& program);

/// Text that read_goal() and messages_of() read back as the same messages. A task that waits for an event on another
/// rank gets a message of 0 bytes. kUnsupported for switches that reduce. `call`: for a comment; null: none.
Result<std::string> write_goal(const program::MessageGraph& graph, const program::CollectiveCall* call = nullptr);

}  // namespace busbar::formats
