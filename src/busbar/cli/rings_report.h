// The rings and trees of a communicator as JSON and as a page.
#pragma once

#include <string>

#include "busbar/base/json.h"
#include "busbar/nccl/comm.h"
#include "busbar/report/document.h"

namespace busbar {

struct RingsView {
  const NcclComm* comm = nullptr;
  const Topology* topology = nullptr;
  std::string cluster;  ///< as typed
};

/// The usual name of network device `net` of a node, with the node's name; a copy of a node has its own name. NICs
/// merged into one device: "node0.nic0+nic1".
std::string nic_name(const RingsView& view, std::uint32_t node, std::uint32_t net);

/// Adds "channels", "counts", "graphs", "gpus_nics" of the command's JSON.
void rings_to_json(const RingsView& view, Json& out);
void rings_to_document(const RingsView& view, Document& out);

}  // namespace busbar
