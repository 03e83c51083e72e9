// A collective stage by stage: how much crosses each tier of the machine, and when. Pictures of large machines, and of
// reductions in switches of the fabric, are made of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/predict/predictor.h"

namespace busbar::questions {

enum class TierKind : std::uint8_t { kFabric, kNics, kHost, kGpus, kScaleUp };
/// All devices of one kind, or all switches of one tier of a network, that the collective crosses.
struct MachineTier {
  TierKind kind{};
  std::uint8_t level = 0;  ///< of switches: 1 next to the NICs or GPUs
  bool nvswitches = false;
  std::uint32_t devices = 0;
};
/// From one tier to another, or among GPUs that are linked to each other.
struct TierWay {
  std::uint32_t from = 0, to = 0;  ///< in TierCourse::tiers
  double rate = 0;                 ///< bytes/s of all its links that are used
};
struct TierStage {
  std::string phase;  ///< "ring reduce-scatter + all-gather"
  double begin_s = 0, end_s = 0;
  std::vector<double> bytes;  ///< per way
};
/// Stages follow each other as the prediction has them; the last one ends when it does.
struct TierCourse {
  predict::Prediction row;
  double launch_s = 0;
  std::vector<MachineTier> tiers;
  std::vector<TierWay> ways;
  std::vector<TierStage> stages;
  std::string busiest;  ///< "GPUs to NICs": fullest over the whole time
};

/// Errors: kUnsupported for several calls at a time and for what is sent nowhere.
Result<TierCourse> tier_course_of(const predict::Prediction& row, const predict::Predictor& machine);
/// The rows of the largest size, the fastest first, then the other legal algorithms at that size.
std::vector<TierCourse> tier_courses_of(const std::vector<predict::Prediction>& rows, predict::Predictor& machine);
/// "1024 GPUs", "128 leaf switches".
std::string words_of(const MachineTier& tier);

}  // namespace busbar::questions
