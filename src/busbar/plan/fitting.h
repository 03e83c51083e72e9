// What makes a step fit into the memory of a GPU: the layouts with the fewest keys changed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "busbar/workload/memory.h"

namespace busbar::plan {

/// Keys of a layout that change what a GPU holds. The two kinds of offload: optimizer states and activations.
enum class FitKey : std::uint8_t {
  kRecompute,
  kZero,
  kOffloadStates,
  kOffloadActivations,
  kMicroBatch,
  kTp,
  kPp,
  kCp,
  kEp
};

struct FitAsk {
  workload::LayoutSpec layout;  ///< as asked for, with its global batch
  std::uint32_t gpus = 0;       ///< of the machine
  std::uint32_t domain = 0;     ///< GPUs of a server or rack: TP stays inside
  Bytes capacity{0};            ///< memory of a GPU
};

struct FittingLayout {
  std::vector<FitKey> keys;     ///< that differ, in the order of FitKey
  workload::LayoutSpec layout;  ///< resolved
  workload::MemoryUse memory;
  Duration step;
};

/// The layouts that fit with `changed` keys changed. Of each set of keys the nearest values: the next kind of
/// recomputation, the next degree of ZeRO, the next larger degree, half the micro-batch. Sets that contain one of
/// `known` are left out: fewer changes are enough. Without a step.
std::vector<FittingLayout> fitting_layouts(const workload::ModelSpec& model, const FitAsk& ask, std::size_t changed,
                                           const std::vector<FittingLayout>& known = {});

/// How to time layouts, and how many.
struct FitTimes {
  std::function<Result<Duration>(const workload::LayoutSpec&)> bound;  ///< never above `time`
  std::function<Result<Duration>(const workload::LayoutSpec&)> time;
  std::size_t wanted = 3;
  std::size_t most = 6;                       ///< timed
  std::size_t least_keys = 1, most_keys = 3;  ///< changed at a time
};

/// The `wanted` smallest changes that fit: those of fewest keys first; of as many keys, the fastest first. Layouts of
/// as many keys are timed in the order of their bounds until no other can be faster, or `most` are timed. Those that
/// cannot be timed are left out.
std::vector<FittingLayout> smallest_fits(const workload::ModelSpec& model, const FitAsk& ask, const FitTimes& times);

}  // namespace busbar::plan
