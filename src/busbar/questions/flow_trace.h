// Traces as lists of flows: messages, collectives and work with their dependencies (docs/formats/flows.md).
#pragma once

#include <string>

#include "busbar/questions/flow_csv.h"
#include "busbar/spec/cluster.h"

namespace busbar::questions {

/// Whether read_flow_trace() reads it: a GOAL file or a Chakra trace. False for files that cannot be opened.
bool is_flow_trace(const std::string& file);

/// Rank r of the trace runs on GPU `first` + r. Of a Chakra trace `file` is that of rank 0, PREFIX.0.et or
/// PREFIX.0.json; the other ranks' files lie next to it. A GOAL file holds all ranks.
/// - Work of one rank on one unit (GOAL's cpu) is sequential; other work takes as long as the trace says, at once.
/// - What waits for a send waits until its last byte has arrived. A receive is over when the message has arrived.
/// - Collectives run as the library would choose them; a rank takes part when its node may start, and all nodes that
///   wait for it go on when the rank has sent and received everything. The k-th collective of a group is the same on
///   all its ranks. `groups`: the file with the ranks of groups; empty: a group without ranks is of all ranks.
/// Errors: kInvalid for a missing rank, a message or a collective that one side lacks, and nodes that wait for each
/// other; kUnsupported above 4 million flows.
Result<NamedFlows> read_flow_trace(const std::string& file, const std::string& groups, std::uint32_t first,
                                   const spec::Cluster& cluster);

}  // namespace busbar::questions
