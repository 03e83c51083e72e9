// Penalties of transports: how much longer random flows take packet by packet than under fair sharing.
#pragma once

#include <array>
#include <string>

#include "busbar/base/json.h"
#include "busbar/base/result.h"

namespace busbar {

/// Factors on the times of a class of sizes.
struct SizePenalty {
  double mean = 1, p50 = 1, p99 = 1;
};
struct Penalties {
  std::string transport, balance;
  double load = 0;                       ///< of the links that carry most
  std::array<SizePenalty, 4> by_size{};  ///< the classes of FlowTimes
  const SizePenalty& of(double bytes) const;
};

/// From catalog/penalties, linear between the loads tabulated there, and constant beyond them. Errors: kNotFound with
/// the entries that exist.
Result<Penalties> load_penalties(const std::string& transport, const std::string& balance, double load,
                                 const std::string& catalog_directory);
Json to_json(const Penalties& penalties);
/// "dcqcn over ecmp at a load of 0.6".
std::string name_of(const Penalties& penalties);

}  // namespace busbar
