// Flow lists as files: id,src,dst,bytes,start_ns,after[,trigger][,lane][,delay_ns] (docs/formats/flows.md).
#pragma once

#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/engine/flow/flow_list_run.h"

namespace busbar::questions {

/// Flows of one list, where several run at once.
struct FlowJob {
  std::string file;
  std::size_t begin = 0, end = 0;  ///< numbers of flows
};
struct NamedFlows {
  program::FlowList list;
  std::vector<std::string> ids;  ///< per flow
  std::vector<FlowJob> jobs;     ///< if there are several
};

/// Reads line by line. A host is a GPU's number, or a name: of a GPU, a NIC, or a switch that reduces.
/// Errors: kIo; kInvalid and kNotFound with file and line: unknown host, negative size, duplicate id, cyclic `after`.
/// `first`: added to numbers of GPUs.
Result<NamedFlows> read_flow_csv(const std::string& file, const routing::Router& router, std::uint32_t first = 0);

/// The same columns for a list, with numbers as ids, after a line with its shares of link rates if they are below 1. A
/// flow that leaves or arrives by another NIC than its GPU's nearest names that NIC as its host.
std::string write_flow_csv(const program::FlowList& list, const routing::Router& router,
                           const std::string& remark = "");

}  // namespace busbar::questions
