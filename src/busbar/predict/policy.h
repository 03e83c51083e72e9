// Settings for all calls on a machine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "busbar/engine/engine.h"
#include "busbar/nccl/kept_graphs.h"
#include "busbar/nccl/registration.h"
#include "busbar/nccl/version.h"
#include "busbar/packet/packet_list.h"
#include "busbar/predict/band.h"

namespace busbar::predict {

/// How much longer transfers between servers take with a transport than under fair sharing.
struct NetworkPenalty {
  std::string transport, balance;
  double fan_in = 1;         ///< senders to one receiver at a time
  double mean = 1, p99 = 1;  ///< of transfers; at least 1
};

struct PredictPolicy {
  std::string engine = "flow";                     ///< "analytic", "flow" or "packet"
  nccl::NcclVersion nccl{};                        ///< the release whose rules "auto" follows
  std::vector<std::string> env{};                  ///< NCCL's variables: "NCCL_P2P_DISABLE=1"
  bool nvls = true;                                ///< whether switches can reduce these types and operations
  nccl::Registration registration{};               ///< of the buffers, by the user
  nccl::NcclElements elements{};                   ///< of the buffers
  std::optional<Duration> launch{};                ///< before the first byte; empty: as in the machine's file
  std::string launch_mode{};                       ///< its name, for bands; empty: not given
  Duration host_per_gpu{};                         ///< one process starts the GPUs of a node in turn: its time for each
  std::vector<lowering::LinkDelay> delays{};       ///< delayed messages: times are then expected values
  std::optional<packet::PacketOptions> packets{};  ///< for engine "packet"
  std::optional<NetworkPenalty> penalty{};         ///< fluids: times hold for its mean
  Shortcuts shortcuts{};                           ///< that may be taken
  StopFlag stop = nullptr;                         ///< for engines "analytic" and "flow"; packets have their own
  bool host_memory = false;                        ///< rank ranks() + r is the host memory next to the GPU of rank r
  std::shared_ptr<nccl::KeptGraphs> graphs{};      ///< shared by predictors of like machines; null: make() makes one
  const AccuracyTable* accuracy = nullptr;         ///< for the bands; null: no bands. Must outlive the predictor
};

}  // namespace busbar::predict
