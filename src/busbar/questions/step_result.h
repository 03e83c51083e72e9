// A predicted step, in results: what every answer about one step says of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/questions/bound_by.h"
#include "busbar/questions/layout_result.h"
#include "busbar/questions/model_counts.h"
#include "busbar/questions/packet_request.h"
#include "busbar/questions/predict_result.h"
#include "busbar/step/train_run.h"

namespace busbar::questions {

/// The parts of a step, which sum to it.
template <typename T>
struct PartsOfStep {
  T compute{}, exposed_tp{}, exposed_dp{}, exposed_pp{}, exposed_cp{}, exposed_ep{}, bubble{}, optimizer{}, other{},
      slowest_gpu{};
};
using StepSeconds = PartsOfStep<double>;
const Record& record_of(const StepSeconds*);
StepSeconds step_seconds(const step::Breakdown& parts);
using StepPicoseconds = PartsOfStep<std::int64_t>;
const Record& record_of(const StepPicoseconds*);

/// Bytes on one GPU.
struct MemoryResult {
  std::uint64_t parameters = 0, gradients = 0, optimizer = 0, activations = 0, logits = 0, gathered = 0, recomputed = 0,
                temporary = 0, fragmentation = 0, workspace = 0, total = 0;
  std::uint32_t stage = 0;
  std::optional<std::uint64_t> capacity;
};
const Record& record_of(const MemoryResult*);

struct GradientReduction {
  double alone_s = 0, backward_s = 0;
};
const Record& record_of(const GradientReduction*);

struct VolumeResult {
  std::string cls, collective;
  std::uint32_t ranks = 0;
  double calls_per_gpu = 0, message_bytes = 0, bytes_per_gpu = 0;
  std::string law, level, links;
};
const Record& record_of(const VolumeResult*);

struct SpreadResult {
  double gpu_percent = 0, expected_step_s = 0, p10_s = 0, p50_s = 0, p90_s = 0, p99_s = 0;
  double link_delays = 0, slow_gpu_chance = 0;
};
const Record& record_of(const SpreadResult*);

struct JobsOfStep {
  std::uint32_t count = 1;
  std::string placement;
  double alone_s = 0;
};
const Record& record_of(const JobsOfStep*);

struct ExpertsResult {
  double busiest_rank = 1, busiest_rank_p90 = 1, dropped = 0;
};
const Record& record_of(const ExpertsResult*);

struct PlannedResult {
  std::string because, flags;
};
const Record& record_of(const PlannedResult*);

struct StepPrice {
  double per_gpu_hour = 0;
  std::string price_source;
  double per_step = 0, per_million_tokens = 0, per_day = 0, per_day_per_percent = 0;
};
const Record& record_of(const StepPrice*);

/// One collective of the step, over all its uses.
struct CallResult {
  std::string what, cls, collective, algorithm;
  std::uint32_t ranks = 0, groups = 0;
  std::uint64_t size_bytes = 0, count = 0;
  double mean_us = 0, alone_us = 0, slowdown = 1;
  std::optional<std::string> command;
  double total_s = 0, exposed_s = 0;
  BoundBy bound_by;
};
const Record& record_of(const CallResult*);

struct ReliefOfStep {
  std::string what;
  double gain_percent = 0;
};
const Record& record_of(const ReliefOfStep*);

struct PacketsOfStep {
  std::string transport, lb;
  packet::PacketCounts counts;
};
const Record& record_of(const PacketsOfStep*);

struct StepAnswer {
  std::string cluster;
  std::uint32_t gpus = 0;
  std::optional<std::uint32_t> gpus_per_domain, spare_gpus;
  std::string model;
  ModelCounts model_parameters;
  LayoutResult layout;
  std::optional<std::string> framework, framework_release;
  std::string engine, inputs_hash;
  double step_time_s = 0;
  std::int64_t step_time_ps = 0;
  double balanced_step_time_s = 0;
  double tokens_per_s_per_gpu = 0, model_tflops_per_gpu = 0, model_tflops_per_gpu_full_attention = 0;
  double mfu = 0, mfu_full_attention = 0;
  std::string mfu_counts;
  std::vector<std::string> assumptions;
  std::optional<PenaltyResult> penalty;
  std::optional<double> step_time_p99_s;
  std::optional<PacketsOfStep> packets;
  StepSeconds breakdown_s;
  StepPicoseconds breakdown_ps;
  double idle_percent = 0;
  GradientReduction gradient_reduction;
  double compute_slowed_s = 0;
  std::string critical_role;
  MemoryResult memory_bytes;
  std::vector<MemoryResult> memory_stages;
  std::vector<VolumeResult> volumes;
  SpreadResult jitter;
  std::optional<JobsOfStep> jobs;
  std::optional<ExpertsResult> experts;
  std::optional<PlannedResult> planned;
  bool fits = true;
  std::optional<double> scaling_efficiency;
  PolicyResult policy;
  StepPrice cost_usd;
  std::vector<CallResult> calls;
  BoundBy bound_by;
  std::vector<ReliefOfStep> relief;
  std::vector<double> band_percent;  ///< low, high
  std::string band_basis;
  std::vector<double> likely_step_s;  ///< low, high
  std::string verdict;
};
const Record& record_of(const StepAnswer*);

/// What a GPU sends in one step, by purpose.
std::vector<VolumeResult> volume_results(const step::TrainRun& run);

StepAnswer step_answer(const step::TrainRun& run, std::string inputs_hash);

}  // namespace busbar::questions
