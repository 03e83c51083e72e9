// Flow lists as files: id,src,dst,bytes,start_ns,after[,trigger][,lane] (docs/formats/flows.md).
#pragma once

#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/engine/flow/flow_list_run.h"

namespace busbar {

struct NamedFlows {
  FlowList list;
  std::vector<std::string> ids;  ///< per flow
};

/// Reads line by line. A host is a GPU's number, or the name of a GPU or NIC.
/// Errors: kIo; kInvalid and kNotFound with file and line: unknown host, negative size, duplicate id, cyclic `after`.
Result<NamedFlows> read_flow_csv(const std::string& file, const Router& router);

/// The same columns for a list, with numbers as ids. A flow that leaves or arrives by another NIC than its GPU's
/// nearest names that NIC as its host. Overheads count only where a flow waits for no other.
std::string write_flow_csv(const FlowList& list, const Router& router);

}  // namespace busbar
