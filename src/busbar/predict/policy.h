// What may be asked of every call on a machine, next to the machine itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/engine/engine.h"
#include "busbar/nccl/version.h"
#include "busbar/packet/packet_list.h"
#include "busbar/predict/band.h"

namespace busbar {

struct PredictPolicy {
  std::string engine = "flow";                       ///< "analytic", "flow" or "packet"
  NcclVersion nccl{};                                ///< whose rules algorithm "auto" follows
  std::vector<std::string> env{};                    ///< NCCL's variables: "NCCL_P2P_DISABLE=1"
  bool nvls = true;                                  ///< whether switches can reduce these types and operations
  std::optional<Duration> launch{};                  ///< before the first byte; empty: as the machine's file says
  std::vector<LinkDelay> delays{};                   ///< messages that are held up: times are then expected ones
  std::optional<PacketOptions> packets{};            ///< of engine "packet"
  Shortcuts shortcuts{};                             ///< that may be taken
  const AccuracyTable* accuracy = nullptr;  ///< of the bands; null: predictions get none. Outlives the predictor
};

}  // namespace busbar
