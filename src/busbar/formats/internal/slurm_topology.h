// Slurm's topology.conf and topology.yaml (tree and block plugins) as a network.
//
// Source: SchedMD, Slurm 24.05, topology.conf(5): keys and host lists; Slurm 25.05, topology.yaml(5).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/formats/imported.h"

namespace busbar::formats {

struct SlurmSwitch {
  std::string name;
  std::vector<std::string> nodes, switches;
  std::string link_speed;  ///< as written; Slurm does not interpret it
  bool is_block = false;
  int line = 0;
};

struct SlurmTopology {
  topology::Topology
      topology;  ///< hosts are blocks with one NIC; switches of hosts are leaves, those above are spines and cores
  std::vector<SlurmSwitch> switches;
  std::vector<std::string> hosts;  ///< by block
  std::vector<std::int64_t> block_sizes;
  std::vector<std::string> notes;
  std::vector<UnknownPart> unknown;
};

bool looks_like_slurm_topology(std::string_view head);
bool looks_like_slurm_yaml(std::string_view head);
/// topology.yaml as topology.conf: its default topology, or the first with a tree or blocks.
Result<std::string> slurm_conf_of_yaml(std::string_view text, const std::string& name);
/// Each block becomes one switch. Error kInvalid for a host below two switches, unknown switches and circles.
Result<SlurmTopology> read_slurm_topology(std::string_view text, const std::string& name);

/// "n[1-3,07],m1" -> n1 n2 n3 n07 m1; leading zeros keep their width. At most 100,000 names.
Result<std::vector<std::string>> expand_host_list(std::string_view list, const Where& where);

}  // namespace busbar::formats
