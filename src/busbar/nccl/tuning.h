// What NCCL's own model expects of every algorithm and protocol, and which it takes for a call.
//
// The times are NCCL's forecast, made to rank its algorithms; what a call takes on real links is the engines' business
// (DESIGN 4.7). Source: NVIDIA NCCL 2.30.7, src/graph/tuning.cc and src/enqueue.cc; for older ones 2.20.3 and 2.22.3.
#pragma once

#include <array>
#include <optional>

#include "busbar/nccl/algorithms.h"
#include "busbar/nccl/comm.h"

namespace busbar {

/// time = latency + bytes / bandwidth; bandwidth 0: not available.
struct NcclCost {
  float latency_us = 0, GBps = 0;
};

struct NcclTuning {
  /// By collective in the order of kNcclTuned, algorithm, protocol.
  std::array<std::array<std::array<NcclCost, kNcclProtocols>, kNcclAlgorithms>, kNcclCollectives> cost{};
  std::array<std::array<std::uint32_t, kNcclProtocols>, kNcclAlgorithms> threads{};  ///< most per block

  /// Pre: one of the five collectives.
  const NcclCost& of(Collective op, NcclAlgorithm a, NcclProtocol p) const;
};

/// What one call is to use, next to what the settings allow.
struct NcclForced {
  std::optional<NcclAlgorithm> algorithm;
  std::optional<NcclProtocol> protocol;
};

struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  NcclProtocol protocol = NcclProtocol::kSimple;
  std::uint32_t channels = 1, threads = 0;
  std::uint32_t pieces = 0;  ///< that follow each other through the algorithm's phases; 0: these are not a pipeline
  float forecast_us = 0;     ///< NCCL's own; 0 where it makes none (point to point)
};

/// Pieces of a call of `bytes` by trees or NVLS: S / (channels x heads x chunk). Rings go round with whole shares; and
/// where they only pass on, broadcast and reduce, ranks run ahead into the next call, which hides how pieces fill it.
std::uint32_t nccl_pieces(const NcclComm& comm, const NcclTuning& tuning, const NcclChoice& choice, Bytes bytes);

NcclTuning tune_nccl(const NcclComm& comm);

/// What NCCL takes for one call of S = `bytes`, as nccl-tests counts S. Error kUnsupported where `forced` leaves
/// nothing.
Result<NcclChoice> choose_nccl(const NcclComm& comm, const NcclTuning& tuning, Collective op, Bytes bytes,
                               const NcclForced& forced = {});

}  // namespace busbar
