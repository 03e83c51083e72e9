#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "busbar/doctor/internal/logged_job.h"

namespace busbar::doctor {
namespace {

using SendsByNode = std::vector<std::vector<formats::LoggedNic>>;

SendsByNode sends_by_node(const LoggedJob& job) {
  SendsByNode out(job.comm.node_count());
  for (std::uint32_t n = 0; n < job.comm.node_count(); ++n)
    for (const std::uint32_t rank : job.comm.nodes[n].ranks)
      if (const auto at = job.said->members.find(static_cast<int>(rank)); at != job.said->members.end())
        out[n].insert(out[n].end(), at->second.sends.begin(), at->second.sends.end());
  return out;
}

void compare_network(const LoggedJob& job, LogComparison& out) {
  const auto& networks = job.log->networks;
  if (networks.empty() || job.comm.node_count() < 2) return;
  const bool sockets = std::any_of(networks.begin(), networks.end(),
                                   [](const formats::LoggedText& t) { return t.text.starts_with("Socket"); });
  const bool expected = job.comm.settings.sockets || job.cluster.fabric.network.starts_with("tcp");
  if (sockets == expected) {
    out.agrees.push_back("network " + networks.front().text);
    return;
  }
  LogDifference d{"network", networks.front().text, expected ? "Socket" : "RDMA", {}, {}, {}};
  if (sockets) {
    d.cause = "no RDMA device in the container, its driver library is missing, or a network plugin was not loaded";
    price(job, d, {"NCCL_IB_DISABLE=1"});
  } else {
    d.cause = "the machine of the log has RDMA, the described one has TCP";
    d.cost_of = "not predicted: describe the network of the log (--set fabric.network=...)";
  }
  out.differences.push_back(std::move(d));
}

void compare_gpudirect(const LoggedJob& job, const SendsByNode& sends, LogComparison& out) {
  std::size_t direct = 0, all = 0;
  for (const auto& node : sends)
    for (const formats::LoggedNic& s : node) ++all, direct += s.gpudirect;
  if (all == 0) return;
  const bool expected = job.cluster.gpudirect && !job.comm.settings.sockets;
  const std::string words = fmt::format("{} of {} sends with GPUDirect RDMA", direct, all);
  if ((direct == all) == expected && (direct == 0) == !expected) {
    out.agrees.push_back(words);
    return;
  }
  LogDifference d{"GPUDirect RDMA", words, expected ? "all" : "none", {}, {}, {}};
  if (expected) {
    d.cause = "nvidia-peermem or DMA-BUF is missing, or NIC and GPU are farther apart than described";
    price(job, d, {"NCCL_NET_GDR_LEVEL=LOC"});
  } else {
    d.cause = "the described machine has no GPUDirect RDMA";
    d.cost_of = "not predicted: describe the machine with it";
  }
  out.differences.push_back(std::move(d));
}

/// Network devices that the model's rings and trees use on a node.
std::set<std::uint32_t> used_nets(const nccl::NcclComm& comm, std::uint32_t node) {
  std::set<std::uint32_t> out;
  for (std::uint32_t c = 0; c < comm.channels; ++c) {
    const nccl::NcclRing ring = nccl::nccl_ring(comm, c);
    if (node < ring.ports.size()) out.insert(ring.ports[node].out.net);
    const nccl::NcclTree tree = nccl::nccl_tree(comm, c);
    if (node < tree.ports.size()) out.insert(tree.ports[node].out.net);
  }
  return out;
}

/// One node stands for all with as many NICs.
void compare_nics(const LoggedJob& job, const SendsByNode& sends, LogComparison& out) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::uint32_t>> nodes;  // (logged, expected) -> nodes
  for (std::uint32_t n = 0; n < sends.size(); ++n) {
    std::set<int> logged;
    for (const formats::LoggedNic& s : sends[n]) logged.insert(s.device);
    if (!logged.empty()) nodes[{logged.size(), used_nets(job.comm, n).size()}].push_back(n);
  }
  for (const auto& [counts, which] : nodes) {
    const auto [logged, expected] = counts;
    if (logged == expected) {
      out.agrees.push_back(fmt::format("{} NIC{} on each of {} nodes", logged, logged == 1 ? "" : "s", which.size()));
      continue;
    }
    LogDifference d{fmt::format("NICs in use on {} of {} nodes", which.size(), sends.size()),
                    std::to_string(logged),
                    std::to_string(expected),
                    {},
                    {},
                    {}};
    if (logged < expected) {
      d.cause = "NCCL_IB_HCA or the container hides NICs, or some ports are down";
      std::vector<std::string> lost;
      for (std::size_t k = logged; k < expected; ++k) lost.push_back(fmt::format("node*.nic{}", k));
      price(job, d, {}, lost);
    } else {
      d.cause = "the machine of the log has more NICs than the described one, or NCCL_CROSS_NIC differs";
      d.cost_of = "not predicted: describe a machine with these NICs";
    }
    out.differences.push_back(std::move(d));
  }
}

void compare_local(const LoggedJob& job, LogComparison& out) {
  std::uint64_t shared = 0, direct = 0;
  for (const formats::LoggedText& t : job.log->transports) {
    if (t.text.starts_with("P2P")) direct += t.count;
    if (t.text.starts_with("SHM") || t.text.starts_with("direct shared")) shared += t.count;
  }
  if (shared + direct == 0 || job.comm.most_local_ranks() < 2) return;
  const bool expected = predict::joined_by(job.cluster.topology) == predict::JoinedBy::kPcie
                            ? job.cluster.p2p
                            : job.cluster.protocol.scale_up_access;
  const std::string words = shared == 0 ? "P2P" : fmt::format("{} of {} by shared memory", shared, shared + direct);
  if (expected == (shared == 0)) {
    out.agrees.push_back("GPUs of a node connect by " + words);
    return;
  }
  LogDifference d{"connections inside a node", words, expected ? "P2P" : "shared memory", {}, {}, {}};
  if (expected) {
    d.cause = "peer access is off (ACS, IOMMU, a container per GPU), or the sockets are farther apart than described";
    price(job, d, {"NCCL_P2P_DISABLE=1"});
  } else {
    d.cause = "the described machine has no peer access";
    d.cost_of = "not predicted: describe the machine with it";
  }
  out.differences.push_back(std::move(d));
}

}  // namespace

void compare_transports(const LoggedJob& job, LogComparison& out) {
  const SendsByNode sends = sends_by_node(job);
  compare_network(job, out);
  if (job.comm.node_count() > 1) {
    compare_gpudirect(job, sends, out);
    compare_nics(job, sends, out);
  }
  compare_local(job, out);
}

}  // namespace busbar::doctor
