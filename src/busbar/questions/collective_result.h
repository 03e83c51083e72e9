// One size of a collective, as results state it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/predict/prediction.h"
#include "busbar/questions/bound_by.h"
#include "busbar/questions/packet_request.h"

namespace busbar::questions {

struct FloorCut {
  std::string kind, name;
};
const Record& record_of(const FloorCut*);

struct ReliefResult {
  std::string what;
  double gain_percent = 0;
  std::optional<double> most_percent;
  std::optional<BoundBy> next;
};
const Record& record_of(const ReliefResult*);

struct SimplifiedResult {
  std::string what;
  std::vector<std::int32_t> messages_percent;
};
const Record& record_of(const SimplifiedResult*);

struct NcclChoiceResult {
  std::string algorithm, protocol;
  std::uint32_t channels = 1, threads = 0;
  float forecast_us = 0;
  std::optional<std::string> kernel, why;  ///< for registered buffers
};
const Record& record_of(const NcclChoiceResult*);

struct JitterResult {
  double time_without_us = 0, expected_hits = 0, calls_hit_percent = 0, p99_us = 0;
};
const Record& record_of(const JitterResult*);

struct SynthesizedResult {
  std::string schedule, textbook_algorithm;
  double textbook_time_us = 0;
  std::optional<double> ring_time_us;
};
const Record& record_of(const SynthesizedResult*);

struct JobsResult {
  double first = 0, median = 0, last = 0;
};
const Record& record_of(const JobsResult*);

struct ChainPartResult {
  std::string kind, phase;
  std::optional<std::uint32_t> from_rank, to_rank, first_round;
  std::uint32_t rounds = 0;
  std::optional<std::string> link, part;
  double time_us = 0, share_percent = 0;
};
const Record& record_of(const ChainPartResult*);

struct CollectiveRow {
  std::uint64_t size_bytes = 0;
  double time_us = 0, algbw_GBps = 0, busbw_GBps = 0;
  std::string algorithm, protocol;
  std::uint32_t channels = 1, chunks = 1;
  double floor_us = 0;
  FloorCut floor_cut;
  double above_floor_percent = 0, algorithm_floor_us = 0;
  BoundBy bound_by;
  std::vector<double> band_percent;
  std::vector<ReliefResult> relief;
  std::vector<SimplifiedResult> simplified;
  std::optional<std::string> warning, kernels;
  std::optional<NcclChoiceResult> nccl;
  std::optional<JitterResult> jitter;
  std::optional<SynthesizedResult> synthesized;
  std::optional<packet::PacketCounts> packets;
  std::optional<double> time_p99_us;
  std::optional<JobsResult> jobs_us;
  std::vector<ChainPartResult> chain;
  Named<double> breakdown_us;
};
const Record& record_of(const CollectiveRow*);

CollectiveRow collective_row(const predict::Prediction& prediction, double ranks, collectives::Collective op,
                             const topology::Topology& topology);

/// The row that a summary describes: of the largest size, the fastest. Pre: there is one.
const predict::Prediction& summary_row(const std::vector<predict::Prediction>& rows);

/// "AllReduce_AGxLL_R, 4 CTAs", and why NCCL takes it.
std::string kernel_words(const nccl::NcclKernel& kernel);
std::string kernel_reason(const nccl::NcclKernel& kernel);

/// Whether NCCL would take kernels on symmetric memory if windows were registered: small calls of these operations over
/// ranks that scale-up links join.
bool leaves_out_symmetric_kernels(const predict::Prediction& r, double ranks, collectives::Collective op,
                                  const topology::Topology& topology);

}  // namespace busbar::questions
