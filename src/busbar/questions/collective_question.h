// The time of one collective over a range of sizes, or of a schedule from a file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "busbar/predict/predict_options.h"
#include "busbar/predict/predictor.h"
#include "busbar/questions/collective_result.h"
#include "busbar/questions/context.h"
#include "busbar/questions/nccl_tests_request.h"
#include "busbar/questions/packet_request.h"
#include "busbar/questions/predict_result.h"
#include "busbar/questions/question.h"
#include "busbar/questions/schedule_times.h"

namespace busbar::questions {

struct CollectiveRequest {
  std::string cluster, collective;
  std::string min_bytes = "8", max_bytes;
  double step_factor = 2;
  std::vector<std::string> ranks;  ///< one entry per group
  std::string algorithm = "auto";
  std::uint32_t chunks = 0;
  std::string protocol = "auto", schedule, pairs, out;
  std::uint32_t channels = 0, jobs = 1;
  std::string placement = "packed";
  std::vector<std::string> jitter;
  std::optional<std::int64_t> seed;
  std::uint32_t root = 0;
  std::string compute_jitter;
  NcclTestsRequest nccl_tests;
  PacketRun packets;
  predict::PredictOptions predict;
  PacketExtras extras;
  std::string engine = "flow";
  spec::Overrides machine;
  bool explain = false;
};
const Record& record_of(const CollectiveRequest*);

struct CollectiveResult {
  std::string cluster;
  std::uint32_t gpus = 0, groups = 1, jobs = 1;
  std::string collective, engine, algorithm_choice, algorithm_choice_note, inputs_hash;
  std::vector<CollectiveRow> results;
  PolicyResult policy;
  BoundBy bound_by;
  std::vector<double> band_percent;
  std::string band_basis;
  std::vector<std::string> assumptions;
  std::optional<PenaltyResult> penalty;
  bool complete = true;
  std::optional<std::vector<std::string>> shortcuts;
  std::vector<OutputFile> files;
  // For views only:
  std::shared_ptr<predict::Predictor> machine;
  std::vector<predict::Prediction> rows;
  collectives::Collective op{};
};
const Record& record_of(const CollectiveResult*);

/// The file of a schedule that was timed.
struct ScheduleFile {
  std::string file, name;
  bool proved = true;
  std::uint64_t sends = 0, longest_chain_of_sends = 0;
};
const Record& record_of(const ScheduleFile*);

struct ScheduleResult {
  std::string cluster;
  std::uint32_t gpus = 0;
  std::string collective, engine = "flow", algorithm_choice = "file";
  ScheduleFile schedule;
  std::string inputs_hash;
  std::vector<ScheduleRowResult> results;
  PolicyResult policy;
  BoundBy bound_by;
  std::vector<double> band_percent;
  std::string band_basis;
  std::vector<std::string> notes;
  bool complete = true;
  // For views only:
  std::shared_ptr<const predict::Predictor> machine;
  std::shared_ptr<const formats::ImportedSchedule> imported;
  std::vector<ScheduleRow> rows;
  predict::Band band;
};
const Record& record_of(const ScheduleResult*);

using CollectiveAnswer = std::variant<CollectiveResult, ScheduleResult>;
Result<CollectiveAnswer> answer(const CollectiveRequest& request, const Context& context = {});

}  // namespace busbar::questions
