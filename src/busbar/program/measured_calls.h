// Calls that were measured on a machine, and what they say about the time of any call there.
//
// ln(measured / modelled time) is a Gaussian process over calls. Its covariance has three parts: rates, which calls
// share as far as bytes bound them; latencies, as far as bytes do not; and a smooth curve over the logarithm of the
// size, for each algorithm and protocol. All are 0 far from every measurement, where the model stays as it is.
// Source: Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), algorithm 2.1.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "busbar/collectives/schedule.h"

namespace busbar::program {

/// What the time of a call depends on, as far as measurements of other calls tell about it.
struct CallTraits {
  collectives::Collective op{};
  std::uint32_t ranks = 2;
  bool several_nodes = false;  ///< ranks in more than one block of the machine
  std::string way;             ///< algorithm and protocol: "ring ll128"
  double bytes = 0;            ///< S as nccl-tests counts it
  double bytes_share = 0;      ///< part of the modelled time that the busiest links need for their bytes, 0 to 1
};

struct MeasuredCall {
  CallTraits call;
  double us = 0, modelled_us = 0;  ///< modelled: without what was measured
};

/// Standard deviations of ln(measured / modelled), and how much of each part carries over from a measured call to
/// another, 0 to 1.
struct CarryOver {
  double rate, latency, curve;  ///< of rates, latencies, and the curve
  double noise;                 ///< of a measurement
  double octaves;               ///< length over which the curve changes, in factors of two of the size
  double other_way;             ///< the curve, to another algorithm or protocol
  double operation;             ///< all parts, to another operation
  double operation_network;     ///< rates over NICs, among operations that send one stream per rank
  double across_nodes;          ///< curve and latencies, between one node and several
  double rate_across_nodes;     ///< rates, between one node and several
  double per_doubling_in_node;  ///< all parts, for each doubling of the ranks inside a node
  bool operator==(const CarryOver&) const = default;
};
/// As learnt from published machines: `busbar validate --own-table`.
CarryOver carry_over_in_use();

/// Immutable after it is made.
class MeasuredCalls {
 public:
  /// Cost: calls^3 / 6.
  explicit MeasuredCalls(std::vector<MeasuredCall> calls, const CarryOver& carry = carry_over_in_use());

  struct Estimate {
    double ln_factor = 0;  ///< of the modelled time
    double sigma = 0;      ///< standard deviation of a measurement from it
    double known = 0;      ///< 0: as before the measurements, 1: sigma is that of a measurement
  };
  double ln_factor(const CallTraits& call) const;
  Estimate at(const CallTraits& call) const;
  const std::vector<MeasuredCall>& calls() const { return calls_; }

  /// The machine's rates or latencies, as a factor on times.
  struct Quantity {
    double ln_factor = 0, sigma = 0;
  };
  Quantity rates(collectives::Collective op, std::uint32_t ranks, bool several_nodes) const;
  Quantity latencies(collectives::Collective op, std::uint32_t ranks, bool several_nodes) const;

 private:
  using Covariance = double (MeasuredCalls::*)(const CallTraits& a, const CallTraits& b) const;
  Quantity quantity(const CallTraits& call, Covariance part) const;
  double rate_covariance(const CallTraits& a, const CallTraits& b) const;
  double latency_covariance(const CallTraits& a, const CallTraits& b) const;
  double curve_covariance(const CallTraits& a, const CallTraits& b) const;
  double covariance(const CallTraits& a, const CallTraits& b) const;
  double fewer_ranks(const CallTraits& a, const CallTraits& b) const;
  Estimate estimate(const std::vector<double>& with_calls, double prior) const;

  std::vector<MeasuredCall> calls_;
  CarryOver carry_;
  std::vector<double> factor_;   ///< Cholesky factor of the covariance of the calls, by rows of the lower triangle
  std::vector<double> weights_;  ///< of calls, in the estimate of another
};

}  // namespace busbar::program
