// NCCL's own forecast for every algorithm and protocol, and which of them it chooses for a call.
//
// The times are NCCL's forecasts, made to rank its algorithms. The engines compute how long a call takes on real links
// (DESIGN 4.7). Source: NVIDIA NCCL 2.30.7, src/graph/tuning.cc and src/enqueue.cc; older ones: 2.20.3 and 2.22.3.
#pragma once

#include <array>
#include <optional>

#include "busbar/nccl/algorithms.h"
#include "busbar/nccl/comm.h"
#include "busbar/nccl/registered.h"

namespace busbar::nccl {

/// time = latency + bytes / bandwidth; bandwidth 0: not available.
struct NcclCost {
  float latency_us = 0, GBps = 0;
};

struct NcclTuning {
  /// Indexed by collective (in the order of kNcclTuned), algorithm, protocol.
  std::array<std::array<std::array<NcclCost, kNcclProtocols>, kNcclAlgorithms>, kNcclCollectives> cost{};
  std::array<std::array<std::uint32_t, kNcclProtocols>, kNcclAlgorithms> threads{};  ///< most threads per block

  /// Pre: one of the five collectives.
  const NcclCost& of(collectives::Collective op, NcclAlgorithm a, NcclProtocol p) const;
};

/// Restrictions of one call, in addition to the settings.
struct NcclForced {
  std::optional<NcclAlgorithm> algorithm;
  std::optional<NcclProtocol> protocol;
};

struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  NcclProtocol protocol = NcclProtocol::kSimple;
  std::uint32_t channels = 1, threads = 0;
  std::uint32_t pieces = 0;  ///< that go one after another through the algorithm's phases; 0: no pipeline
  float forecast_us = 0;     ///< NCCL's own forecast; 0 if it makes none (point to point)
  /// The kernel for registered buffers that runs instead of algorithm and protocol; empty: none.
  std::optional<NcclKernel> kernel{};
  std::string_view why_not{};  ///< why registered buffers change nothing here; empty: they do, or none are registered
};

/// Pieces of a call of `bytes` by trees or NVLS: S / (channels x heads x chunk). Rings send whole shares. Where a ring
/// only passes data on (broadcast, reduce), ranks start the next call early, which hides the time to fill the pipeline.
std::uint32_t nccl_pieces(const NcclComm& comm, const NcclTuning& tuning, const NcclChoice& choice, Bytes bytes);

NcclTuning tune_nccl(const NcclComm& comm);

/// NCCL's choice for one call of S = `bytes`, with S counted as nccl-tests does. Error kUnsupported if `forced` permits
/// no choice.
Result<NcclChoice> choose_nccl(const NcclComm& comm, const NcclTuning& tuning, collectives::Collective op, Bytes bytes,
                               const NcclForced& forced = {});

}  // namespace busbar::nccl
