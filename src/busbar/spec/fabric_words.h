// Words for fabrics, such as a comparison takes them: "ib", "4:1", "fat-tree-2:1".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/spec/catalog.h"
#include "busbar/spec/cluster.h"
#include "busbar/topology/topology.h"

namespace busbar::spec {

/// Why packets take longer before tuning, and the settings that take it away.
struct PacketCause {
  std::string name, title;       ///< "hash collisions"
  std::vector<std::string> set;  ///< as --set, after those of all causes before
};
/// How the transfers of a step are sent packet by packet over a fabric.
struct FabricPackets {
  std::string transport, paths;  ///< of `busbar flows --transport --lb`
  std::vector<std::string> set;  ///< as --set: "packet=PROFILE", "packet.KEY=VALUE"
  std::vector<PacketCause> causes;
  std::string source;
};

/// One fabric for a machine.
struct FabricWord {
  std::string word;                           ///< as typed: "fat-tree-2:1"
  std::string title;                          ///< in words; empty: the preset's name says it
  std::string preset;                         ///< catalogue name; empty: the machine's own fabric
  std::string oversubscription;               ///< "2"; empty: the preset's own
  std::string transport;                      ///< of `busbar train --transport`; empty: no penalties are known
  std::optional<FabricPackets> packets{};     ///< instead of penalties
  std::string shape;                          ///< of a torus of chips: "8x8x8"; empty: the machine's own
  std::vector<std::string> settings() const;  ///< for --set
};

/// The rate of the first port between a NIC and a switch outside all servers; 0 if there is none.
BytesPerSecond port_rate(const topology::Topology& topology);

/// A list as typed: words of catalog/comparisons/fabrics ("ib"), names of presets, ratios ("2:1"), or a word and a
/// ratio
/// ("fat-tree-4:1"). `port`: the rate of the machine's ports, which chooses among the presets of a word.
/// Errors name the field `fabrics`, and the words or rates that exist.
Result<std::vector<FabricWord>> read_fabric_words(const std::string& list, BytesPerSecond port, const Catalog& catalog);

/// Every shape of `chips` chips that optical switches can wire from the cubes of the machine, the most even first.
/// Errors name the field `shapes`: no such switches, or no whole number of cubes.
Result<std::vector<FabricWord>> torus_shapes(const Cluster& machine, std::uint32_t chips);

}  // namespace busbar::spec
