// What a machine is, or this host without one: counts, tiers, bisection, memory, sharing, cables, pairs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/questions/context.h"
#include "busbar/questions/pair_figures.h"
#include "busbar/questions/question.h"
#include "busbar/questions/topo_facts.h"
#include "busbar/spec/cluster.h"
#include "busbar/topology/matrix.h"

namespace busbar::questions {

const Record& record_of(const LargestModel*);

struct TopoRequest {
  std::string cluster;  ///< empty: this host
  bool matrix = false, tree = false, bandwidth = false, latency = false, hops = false, levels = false, all = false;
  std::optional<std::int64_t> node;
  std::string svg, nccl_xml, dot, yaml, cables;  ///< files to write
  std::string root = "/";
  spec::Overrides machine;
  bool explain = false;
};
const Record& record_of(const TopoRequest*);

/// A network device of a host without GPUs.
struct TopoNic {
  std::string name;
  std::optional<double> rate_bytes_per_s;
  std::string state, layer;
  bool rdma = false;
  std::optional<int> numa_node;
  std::string pci;
};
const Record& record_of(const TopoNic*);

struct TopoLevel {
  std::string name;
  double GBps_per_direction = 0, payload_GBps = 0;
  std::optional<double> latency_ns, ratio;
  std::string counted;
};
const Record& record_of(const TopoLevel*);

struct TopoDomain {
  std::uint32_t gpus = 0;
  std::uint64_t memory_bytes = 0;
  double ports_GBps = 0;
  std::vector<LargestModel> largest_models;
};
const Record& record_of(const TopoDomain*);

struct TopoFabric {
  std::string kind, network;
  std::optional<std::string> wiring;
  double oversubscription = 1, oversubscription_asked = 1;
};
const Record& record_of(const TopoFabric*);

struct TopoRoot {
  std::string top;
  std::vector<std::string> gpus, nics;
};
const Record& record_of(const TopoRoot*);

struct TopoTier {
  std::string tier;
  double ratio = 1;
  bool non_blocking = false;
};
const Record& record_of(const TopoTier*);

struct TopoOptical {
  std::uint32_t switches = 0, cube = 0;
  std::uint64_t links = 0;
  double switching_s = 0, initialisation_s = 0, reconfiguration_s = 0;
};
const Record& record_of(const TopoOptical*);

struct TopoCablePart {
  std::string name, medium;
  double reach_m = 0;
  std::uint32_t cables = 0, ends = 0;
  double length_m = 0, longest_m = 0, power_w = 0;
};
const Record& record_of(const TopoCablePart*);

struct TopoCabling {
  std::uint32_t cables = 0;
  double length_m = 0;
  std::uint32_t transceivers = 0, too_long = 0;
  double cables_power_w = 0;
  std::uint64_t switches = 0;
  std::optional<double> switches_power_w;
  std::vector<TopoCablePart> parts;
};
const Record& record_of(const TopoCabling*);

struct TopoMatrix {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> cells;
  std::vector<std::string> cpu_affinity, numa_affinity;
  Named<std::string> legend;
};
const Record& record_of(const TopoMatrix*);

struct TopoDevice {
  std::string name, kind, part;
  std::optional<int> numa;
  std::optional<std::uint64_t> memory_bytes;
};
const Record& record_of(const TopoDevice*);

struct TopoLink {
  std::string from, to, kind, part;
  std::uint32_t lanes = 0;
  double GBps_per_direction = 0, payload_GBps = 0, latency_ns = 0, health = 1;
};
const Record& record_of(const TopoLink*);

/// Of a host without GPUs.
struct TopoHost {
  std::string cluster = "this host";
  std::uint32_t gpus = 0;
  std::vector<TopoNic> nics;
  std::optional<std::string> numa_nodes_online;
  std::string inputs_hash;
};
const Record& record_of(const TopoHost*);

struct TopoResult {
  std::string cluster;
  Named<std::uint32_t> counts;
  std::vector<TopoLevel> levels;
  double bisection_GBps = 0;
  std::string bisection_kind, bisection_cut;
  std::uint64_t memory_bytes_total = 0;
  TopoDomain scale_up_domain;
  TopoFabric fabric;
  std::optional<double> gpus_per_nic;
  std::vector<TopoRoot> pcie_roots;
  std::vector<TopoTier> tiers;
  bool p2p = true, gpudirect = true;
  std::optional<TopoOptical> optical_switches;
  std::optional<TopoCabling> cabling;
  std::optional<TopoMatrix> matrix;
  std::optional<std::vector<TopoDevice>> devices;
  std::optional<std::vector<TopoLink>> links;
  std::optional<PairFigures> pairs;
  std::optional<HopCounts> hops;
  std::string inputs_hash;
  std::vector<OutputFile> files;
  // For views only:
  std::shared_ptr<const spec::Cluster> machine;
  TopoFacts facts;
  topology::BlockId block{};  ///< the node for tables and pictures
};
const Record& record_of(const TopoResult*);

using TopoAnswer = std::variant<TopoHost, TopoResult>;
Result<TopoAnswer> answer(const TopoRequest& request, const Context& context = {});

}  // namespace busbar::questions
