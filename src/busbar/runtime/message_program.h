// Messages of no known collective made ready to run: bytes move as the messages depend on each other; nothing is
// added, and work on a rank takes no time.
#pragma once

#include <cstdint>

#include "busbar/program/message_graph.h"
#include "busbar/runtime/executable.h"

namespace busbar::runtime {

struct MessageProgram {
  Executable program;  ///< its data cannot be checked: what must arrive is not known
  std::uint64_t unit_bytes =
      1;  ///< of a chunk; each message is rounded up to whole ones, by less than 0.1 % of the largest
};

/// A rank sends and receives each message on a thread per peer, in an order in which no message waits for itself.
/// Errors: kUnsupported for switches and above 100,000 messages; kInvalid where messages wait for each other in a ring.
Result<MessageProgram> compile_messages(const program::MessageGraph& graph);

}  // namespace busbar::runtime
