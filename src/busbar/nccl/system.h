// A node as NCCL sees it: NCCL's kinds of nodes and links, its bandwidths for them, and the paths between GPUs and
// network devices.
//
// Invariants:
//  1. Links come in pairs; `reverse` is the other direction. Parallel links are one link with the sum of their
//     bandwidths.
//  2. GPUs are in the order of their devices, as are network devices, independent of ranks.
//  3. Bandwidths are float, rounded to 1e-3 GB/s when reserved: NCCL compares such floats, and doubles would lead to
//     other graphs.
// Source: NVIDIA NCCL 2.30.7, src/graph/{topo,paths}.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "busbar/nccl/constants.h"
#include "busbar/nccl/settings.h"
#include "busbar/topology/topology.h"

namespace busbar::nccl {

enum class NcclNodeKind : std::uint8_t { kGpu, kPci, kNvs, kCpu, kNic, kNet };
enum class NcclLinkKind : std::uint8_t { kLoc, kNvl, kC2c, kPci, kSys, kNet };
const char* name_of(NcclNodeKind kind);  ///< "GPU", "PCI", "NVS", "CPU", "NIC", "NET"

struct NcclNode {
  NcclNodeKind kind{};
  topology::DeviceId device = kNone<topology::DeviceId>;
  // GPUs
  int compute_capability = 0;  ///< times ten; 0 unknown
  std::uint32_t rank = 0;
  std::uint32_t dev = 0;  ///< number among all GPUs of the machine, including hidden ones
  // network devices
  float net_GBps = 0;
  float net_latency_us = 0;
  std::uint32_t asic = 0, port = 0;
  std::vector<topology::DeviceId>
      ports;  ///< all NICs that it consists of, the first is `device`; more than one if merged
  bool collnet = false;
  // CPUs
  CpuType cpu;
  int numa = 0;

  bool operator==(const NcclNode&) const = default;
};

struct NcclLink {
  std::uint32_t from = 0, to = 0;  ///< nodes
  NcclLinkKind kind{};
  float GBps = 0;
  std::uint32_t reverse = 0;

  bool operator==(const NcclLink&) const = default;
};

struct NcclPath {
  topology::PathType type = topology::PathType::kDis;
  float GBps = 0;
  std::vector<std::uint32_t> links;  ///< in order

  bool operator==(const NcclPath&) const = default;
};

/// Paths from every node of one kind to every node of another kind.
struct NcclPaths {
  std::uint32_t columns = 0;
  std::vector<NcclPath> cells;
  NcclPath& at(std::uint32_t from, std::uint32_t to) { return cells[std::size_t{from} * columns + to]; }
  const NcclPath& at(std::uint32_t from, std::uint32_t to) const { return cells[std::size_t{from} * columns + to]; }
  bool operator==(const NcclPaths&) const = default;
};

struct NcclSystem {
  std::vector<NcclNode> nodes;
  std::vector<NcclLink> links;
  std::vector<std::vector<std::uint32_t>> out;  ///< per node: NVLink first, fast ones first, then PCIe, SYS
  std::vector<std::uint32_t> gpus, nets, cpus;  ///< nodes: GPU g of the paths is gpus[g], network device n is nets[n]
  std::uint32_t nvs = UINT32_MAX;               ///< the one node that represents all switches
  bool inter = false;                           ///< network devices are used, because there are other nodes
  bool amd_gpus = false;                        ///< xGMI instead of NVLink; RCCL's rules apply
  std::string target;                           ///< of the AMD GPUs, "gfx942"
  int least_capability = 0;                     ///< of all GPUs; 0: unknown
  CpuType cpu;                                  ///< of the first CPU

  NcclPaths gpu_gpu, gpu_net, net_gpu, gpu_nvs, nvs_gpu, gpu_cpu, cpu_gpu, net_cpu, cpu_net;
  std::vector<int> local_gpu;  ///< per network device: the GPU that prefers it; -1: none
  float max_GBps = 0;          ///< of the best path to a network device, or between GPUs
  float total_GBps = 0;        ///< most that the links of one GPU carry

  bool has_nvs() const { return nvs != UINT32_MAX; }
  std::uint32_t gpu_count() const { return static_cast<std::uint32_t>(gpus.size()); }
  std::uint32_t net_count() const { return inter ? static_cast<std::uint32_t>(nets.size()) : 0; }
  bool operator==(const NcclSystem&) const = default;
};

/// Builds the system of the block of `gpus` with only these GPUs, rank r on gpus[i] if ranks[i] == r. Network devices
/// are the block's NICs with a live cable, merged as the settings say. There are none if `inter` is false; if there are
/// none, `inter` of the result is false. Error kInvalid: GPUs of several blocks; kUnsupported: an accelerator that
/// neither NCCL nor RCCL supports.
Result<NcclSystem> build_nccl_system(const topology::Topology& topology, std::span<const topology::DeviceId> gpus,
                                     std::span<const std::uint32_t> ranks, bool inter, const NcclSettings& settings);

/// The network devices of GPU `gpu`: channel c uses number c modulo their count. Empty if there are none.
std::vector<std::uint32_t> local_nets(const NcclSystem& system, std::uint32_t gpu);
/// The network device of GPU `gpu` on channel `channel`. Pre: there is one.
std::uint32_t local_net(const NcclSystem& system, std::uint32_t gpu, std::uint32_t channel);
/// The GPUs nearest to network device `net`: most bandwidth, then the lowest type.
std::vector<std::uint32_t> local_gpus(const NcclSystem& system, std::uint32_t net);

}  // namespace busbar::nccl
