// Penalties of transports: how much longer random flows take packet by packet than under fair sharing.
#pragma once

#include <array>
#include <string>

#include "busbar/base/result.h"
#include "busbar/predict/policy.h"
#include "busbar/spec/cluster.h"

namespace busbar::predict {

/// Factors on the times of a class of sizes.
struct SizePenalty {
  double mean = 1, p50 = 1, p99 = 1;
};
/// What random flows do to a network.
struct NetworkUse {
  double load = 0;         ///< of the kind of link that carries most
  double crossing = 1;     ///< share of the hosts' bytes that links between switches carry
  double bdp_bytes = 0;    ///< rate of the hosts' cables x round trip of the longest route
  double cable_bytes = 0;  ///< what a host's cable carries until the last flow starts
};
struct Penalties {
  std::string transport, balance;
  NetworkUse use;
  double size_scale = 1;                 ///< a flow here is as one of so many times its size in the tabulated network
  std::array<SizePenalty, 4> by_size{};  ///< at the middles of the classes of FlowTimes, in the tabulated network
  /// For a flow of `bytes`. Linear in log(bytes); below the first middle at most half a class further.
  SizePenalty of(double bytes) const;
};

/// From catalog/penalties, linear between the loads tabulated there, and constant beyond them. Where an entry says how
/// its excess over 1 depends on what crosses and on how long flows start, likewise. Errors: kNotFound with the entries
/// that exist.
Result<Penalties> load_penalties(const std::string& transport, const std::string& balance, const NetworkUse& use,
                                 const std::string& catalog_directory);
/// The penalty of one call at full load, from the same files, linear in the logarithm of the fan-in. Errors: likewise.
Result<NetworkPenalty> load_call_penalty(const std::string& transport, const std::string& balance, double fan_in,
                                         const std::string& catalog_directory);
/// Senders to one receiver at a time: of an exchange or a gather over n ranks those of other servers, otherwise 1.
double fan_in_of(collectives::Collective op, std::uint32_t n, const topology::Topology& topology);

/// --lb for fluids: ecmp, spray or adaptive; empty: as the cluster is.
Status choose_paths(const std::string& balance, spec::Cluster& cluster);
std::string balance_of(const spec::Cluster& cluster);  ///< "ecmp", "spray" or "adaptive"

/// "dcqcn over ecmp at a load of 0.6".
std::string name_of(const Penalties& penalties);

}  // namespace busbar::predict
