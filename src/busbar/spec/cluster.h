// A cluster as the user names it: a preset, NAME:N, or a YAML file; with overrides from the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/program/protocol.h"
#include "busbar/spec/optical_switches.h"
#include "busbar/topology/cabling.h"
#include "busbar/topology/nic_merging.h"
#include "busbar/topology/routing_policy.h"
#include "busbar/topology/topology.h"

namespace busbar {

/// --set, --degrade, --fail, --gpu and --gpu-memory-rate as typed, in order.
struct Overrides {
  std::vector<std::string> set;      ///< "fabric.link.rate=200Gb/s"
  std::vector<std::string> degrade;  ///< "node5.nic2=0.5"
  std::vector<std::string> fail;     ///< "leaf3-spine1"
  std::string gpu;                   ///< --gpu: product of GPUs that the file does not name; empty: as the file says
  std::string gpu_memory_rate;       ///< --gpu-memory-rate; empty: as the file says
  std::string catalog;               ///< --catalog DIR; empty: $BUSBAR_CATALOG, then the embedded files
};

/// What `fabric:` in the file said, kept for reports.
struct FabricSummary {
  std::string kind;                     ///< "none", "single-switch", "leaf-spine", "rail-optimised"
  std::string network;                  ///< "InfiniBand NDR"
  std::vector<std::uint32_t> switches;  ///< of each tier, leaves first
  double oversubscription = 1;
  NicMerging merges_nics = NicMerging::kByCard;  ///< as its transport says
};

struct Cluster {
  std::string name;
  Topology topology;
  RoutingPolicy routing = RoutingPolicy::kStatic;
  std::uint64_t seed = 0;
  ProtocolModel protocol;
  FabricSummary fabric;
  OpticalSwitches ocs;
  CablingRules cabling;         ///< no parts where there is no fabric of real cables
  double switches_power_w = 0;  ///< of all fabric switches without transceivers; 0: not known
  std::string gpu_part;         ///< catalogue name of the GPU, "" for ideal machines
  bool ideal = false;           ///< nothing is known of what its software costs: none is counted
  bool gpudirect = true;        ///< NICs reach GPU memory; else payloads bounce in host memory
  bool p2p = true;              ///< GPUs reach each other over PCIe; else through host memory
  double usd_per_gpu_hour = 0;  ///< 0: unknown
  std::string price_source;
  std::vector<std::string> assumptions;  ///< made for what the machine's file leaves open
  std::vector<std::string> sources;      ///< one line per figure that matters: what, value, source
  std::string text;                  ///< everything read, for inputs_hash
};

/// `name` is the text of a cluster file when it begins with '{', a file when it exists or ends in .yaml/.yml, else a
/// preset of the catalogue, with ":N" for N nodes.
Result<Cluster> load_cluster(std::string_view name, const Overrides& overrides = {});

/// The same for the text of a cluster file; `name` stands in for the file in messages.
Result<Cluster> parse_cluster(std::string text, const std::string& name, const Overrides& overrides = {});

/// A machine that another program described: with faults applied, and the overheads of that entry of
/// catalog/protocols (empty: none, an ideal machine). --set is refused: there are no keys. `text`: what it was read
/// from, for inputs_hash.
Result<Cluster> adopt_topology(Topology topology, std::string name, std::string text, std::string_view protocol,
                               const Overrides& overrides);

}  // namespace busbar
