// Picks per size for NCCL's example tuner plugin, written and followed.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/formats/nccl_tuner.h"
#include "busbar/predict/predictor.h"

namespace busbar::questions {

/// Lines "collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks": for each size the fastest of
/// `rows` that NCCL has, up to the next size; neighbours with one pick become one line. Channels are -1, which keeps
/// NCCL's. NCCL_TUNER_CONFIG_FILE names such a file. Source: NVIDIA NCCL 2.30.7, plugins/tuner/example/README.md. Error
/// kUnsupported if NCCL's tuner has no such collective, or none of the algorithms.
Result<std::string> tuner_csv(const predict::Predictor& machine, const std::vector<predict::Prediction>& rows);

/// Whether `algorithm` names a file of picks, .conf or .csv.
bool names_tuner_file(const std::string& algorithm);
Result<formats::TunerPicks> read_tuner_file(const std::string& file);

/// Times the call as the first pick that applies says; as NCCL chooses if none does, or if NCCL could not run it.
Result<predict::Prediction> time_as_picked(const formats::TunerPicks& picks, program::CollectiveCall call,
                                           const predict::TimeAsk& ask, predict::Predictor& machine);

}  // namespace busbar::questions
