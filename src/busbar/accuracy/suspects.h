// Possible faults of a machine, for a search: every single part by classes of equal parts, and faults of the whole.
#pragma once

#include <string>
#include <vector>

#include "busbar/predict/policy.h"
#include "busbar/spec/cluster.h"

namespace busbar::accuracy {

/// One fault, applied to one of a class of equal parts, or to the whole machine.
struct Suspect {
  std::string rule;                 ///< "slow-cable", "tcp-fallback": the cause, in the words of docs/doctor.md
  std::string words;                ///< for people: "a cable between a NIC and its switch"
  std::string part;                 ///< one part of the class, as --degrade takes it; empty: the whole machine
  std::vector<std::string> alike;   ///< all parts of the class, `part` among them
  std::vector<std::string> slowed;  ///< selectors that get the factor
  std::vector<std::string> env;     ///< variables of NCCL that have the same effect
  std::vector<double> factors{};    ///< to try: remaining share of the rate, descending; 0: the part is dead
  bool whole() const { return part.empty(); }
};

/// Classes of parts on the paths of collectives: cables by product and ends, GPUs, NICs, switches, nodes. The part in
/// the middle of the class stands for it. Order: devices, then cables, by first occurrence.
std::vector<Suspect> single_parts(const topology::Topology& topology);

/// Faults of the whole machine: the network, peer access, GPUDirect, settings of the library.
std::vector<Suspect> whole_machine_faults(const spec::Cluster& cluster);

/// Applies the fault with `factor` (1: only the variables). Error if the machine has no such part.
Status apply_suspect(const Suspect& suspect, double factor, spec::Cluster& cluster, predict::PredictPolicy& policy);

/// What repeats the prediction with the fault: "--degrade 'node1.nic4=0.5'", "--env NCCL_IB_DISABLE=1".
std::string flags_of(const Suspect& suspect, double factor);

}  // namespace busbar::accuracy
