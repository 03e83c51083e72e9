// The rings, trees and NICs that NCCL would use.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/nccl/comm.h"
#include "busbar/questions/context.h"
#include "busbar/questions/question.h"
#include "busbar/spec/cluster.h"

namespace busbar::questions {

struct RingsRequest {
  std::string cluster;
  std::uint32_t gpus = 0, copies = 1;
  std::string nccl = "2.30";
  std::vector<std::string> env;
  std::string cross_nic;
  bool no_nvls = false, collnet = false, no_pxn = false;
  std::string svg, nccl_graph;  ///< files to write
  spec::Overrides machine;
  bool explain = false;
};
const Record& record_of(const RingsRequest*);

struct RingCounts {
  std::uint32_t coll = 0, nvls = 0, p2p = 0, p2p_per_peer = 0;
};
const Record& record_of(const RingCounts*);

struct RingGraph {
  std::string pattern;
  int cross_nic = 0;
  std::uint32_t channels = 0;
  float intra_GBps = 0, inter_GBps = 0;
  std::string intra_type, inter_type;
};
const Record& record_of(const RingGraph*);

struct RingGraphs {
  std::optional<RingGraph> ring, tree, nvls, collnet_chain, collnet_direct;
};
const Record& record_of(const RingGraphs*);

struct RankNic {
  std::uint32_t rank = 0;
  std::string nic;
};
const Record& record_of(const RankNic*);

struct RingChannel {
  std::string kind;
  std::uint32_t channel = 0;
  std::vector<std::uint32_t> order;
  std::optional<std::vector<std::int32_t>> parents;
  std::vector<std::string> nics;
  bool balanced = true;
};
const Record& record_of(const RingChannel*);

struct RingsResult {
  std::string cluster;
  std::uint32_t gpus = 0, nodes = 0;
  std::string nccl_version, library, rings_from;
  int cross_nic = 0;
  std::string inputs_hash;
  RingCounts counts;
  RingGraphs graphs;
  Rows<RankNic> nic_of_gpu;
  Rows<RingChannel> channels;
  std::vector<OutputFile> files;
  // For views only:
  std::shared_ptr<const spec::Cluster> machine;
  std::shared_ptr<const nccl::NcclComm> comm;
};
const Record& record_of(const RingsResult*);

Result<RingsResult> answer(const RingsRequest& request, const Context& context = {});

/// The usual name of network device `net` of a node, with the node's name; a copy of a node has its own name. NICs
/// merged into one device: "node0.nic0+nic1".
std::string nic_name(const nccl::NcclComm& comm, const topology::Topology& topology, std::uint32_t node,
                     std::uint32_t net);
/// Ranks beginning with the root, parents before children.
std::vector<std::uint32_t> order_of(const nccl::NcclTree& tree);

}  // namespace busbar::questions
