// A cluster as the user names it: a preset, NAME:N, or a YAML file, with overrides from the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/program/protocol.h"
#include "busbar/spec/optical_switches.h"
#include "busbar/spec/packet_lines.h"
#include "busbar/topology/cabling.h"
#include "busbar/topology/nic_merging.h"
#include "busbar/topology/routing_policy.h"
#include "busbar/topology/topology.h"

namespace busbar::spec {

/// --set, --degrade, --fail, --nodes, --gpu and --gpu-memory-rate as typed, in order.
struct Overrides {
  std::vector<std::string> set;      ///< "fabric.link.rate=200Gb/s"
  std::vector<std::string> degrade;  ///< "node5.nic2=0.5"
  std::vector<std::string> fail;     ///< "leaf3-spine1"
  std::uint32_t nodes = 0;           ///< --nodes: the first so many; 0: all, of a preset without a size one
  std::string gpu;                   ///< --gpu: product of GPUs that the file does not name; empty: none given
  std::string gpu_memory_rate;       ///< --gpu-memory-rate; empty: none given
  std::string catalog;               ///< --catalog DIR; empty: $BUSBAR_CATALOG, then the embedded files
};

/// The content of `fabric:` in the file, kept for reports.
struct FabricSummary {
  std::string kind;                     ///< "none", "single-switch", "leaf-spine", "rail-optimised"
  std::string network;                  ///< "InfiniBand NDR"
  std::vector<std::uint32_t> switches;  ///< per tier, leaves first
  std::string wiring;    ///< of NICs on several leaves: "by-node", "dealt", "by-rail"; empty: the kind says it all
  std::string formerly;  ///< the preset with the wiring that this name had in earlier versions; empty: none
  double oversubscription = 1;        ///< of the leaves, as built; of a dragonfly, half to half
  double oversubscription_asked = 1;  ///< as the file or --set gives it
  topology::NicMerging merges_nics = topology::NicMerging::kByCard;  ///< as given by its transport
  /// A ratio was asked for, and one switch holds all NICs: nothing is above it.
  bool oversubscription_is_idle() const { return oversubscription_asked > 1 && switches.size() == 1; }
};

struct Cluster {
  std::string name;
  topology::Topology topology;
  topology::RoutingPolicy routing = topology::RoutingPolicy::kStatic;
  std::uint64_t seed = 0;
  program::ProtocolModel protocol;
  FabricSummary fabric;
  OpticalSwitches ocs;
  topology::CablingRules cabling;  ///< without parts if the fabric has no real cables
  double switches_power_w = 0;     ///< of all fabric switches without transceivers; 0: unknown
  std::string gpu_part;            ///< catalogue name of the GPU, "" for ideal machines
  bool ideal = false;              ///< its software costs are unknown and counted as zero
  bool gpudirect = true;           ///< NICs access GPU memory directly; otherwise payloads go through host memory
  bool p2p = true;                 ///< GPUs reach each other over PCIe; otherwise through host memory
  double kernel_time = 1;          ///< of all kernels on its GPUs, against the catalogue's: fitted to measured steps
  double usd_per_gpu_hour = 0;     ///< 0: unknown
  std::string price_source;
  std::vector<PacketLine> packet;        ///< settings of the packet engine, which others refuse
  std::vector<std::string> assumptions;  ///< assumptions about facts that the machine's file leaves open
  std::vector<std::string> sources;      ///< one line per important figure: name, value, source
  std::string text;                      ///< everything read, for inputs_hash
};

/// `name` is the text of a cluster file if it begins with '{', a file if it exists or ends in .yaml/.yml, otherwise a
/// preset of the catalogue, or another name of one ("p5"), with ":N" for N nodes.
Result<Cluster> load_cluster(std::string_view name, const Overrides& overrides = {});

/// The same for the text of a cluster file; `name`: the file's name in messages.
Result<Cluster> parse_cluster(std::string text, const std::string& name, const Overrides& overrides = {});

/// A machine described by another program, with faults applied and the overheads of an entry of catalog/protocols
/// (empty: none, an ideal machine). --set is refused because there are no keys. `text`: the description, for
/// inputs_hash.
Result<Cluster> adopt_topology(topology::Topology topology, std::string name, std::string text,
                               std::string_view protocol, const Overrides& overrides);

/// Why `cluster` has no `asked` GPUs, and which machine has. `flag`: the one that asked for them.
Error too_many_gpus(const char* flag, std::uint64_t asked, const Cluster& cluster, const Overrides& overrides);

}  // namespace busbar::spec
