// Messages as a Chakra execution trace, one file per rank. Source of the format: mlcommons/chakra,
// schema/protobuf/et_def.proto; types of attributes as in ASTRA-sim's examples of custom collectives.
#pragma once

#include <string>
#include <vector>

#include "busbar/program/message_graph.h"

namespace busbar::formats {

/// The contents of NAME.RANK.et, rank by rank, which read_chakra_nodes() reads back: a send and a receive per message,
/// and computation per work, in whole microseconds (rounded up). Data dependencies are those of the graph. A task
/// that waits for an event on another rank gets a message of 1 byte, as ASTRA-sim has no empty ones.
/// kUnsupported for switches that reduce, and for tasks that wait for the start of another.
Result<std::vector<std::string>> write_chakra(const program::MessageGraph& graph);

}  // namespace busbar::formats
