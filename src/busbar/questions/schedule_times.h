// A schedule or messages from a file on a machine: proved, timed, and compared with our own algorithms and the floor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/context.h"
#include "busbar/base/record.h"
#include "busbar/formats/import.h"
#include "busbar/formats/pair_matrix.h"
#include "busbar/predict/predictor.h"
#include "busbar/questions/bound_by.h"
#include "busbar/questions/collective_result.h"

namespace busbar::questions {

/// Reads and proves it. Error for files of kinds without a schedule.
Result<formats::ImportedSchedule> load_schedule(const std::string& file);
/// Of GOAL, and of other files of messages.
Result<formats::ImportedMessages> load_messages(const std::string& file);

/// The matrix of an all_to_allv, --pairs; without counts if `file` is empty.
Result<formats::PairMatrix> load_pairs(const std::string& file, collectives::Collective op, std::uint32_t ranks);

/// One size of a schedule from a file.
struct ScheduleRow {
  Bytes size{};
  Duration time, algorithm_floor;
  floors::Floor floor;
  lowering::Bound bound;
  std::string warning;  ///< of below_floor()
  std::uint32_t loops = 1;
  std::string ours;  ///< the fastest of our algorithms, "" if none can be timed
  Duration ours_time;

  double algbw() const;  ///< GB/s
  double against_ours_percent() const;
  double above_floor_percent() const;
};

/// Times it message by message. `loops`: number of parts of the buffer that run one after another; 0: the fastest
/// number, down to the machine's chunk size. Stops early, with the sizes so far, if `context` requests it.
Result<std::vector<ScheduleRow>> time_schedule(const formats::ImportedSchedule& schedule, predict::Predictor& machine,
                                               const std::vector<Bytes>& sizes, std::uint32_t loops,
                                               const Context& context);

/// A row in results.
struct ScheduleRowResult {
  std::uint64_t size_bytes = 0;
  double time_us = 0, algbw_GBps = 0, busbw_GBps = 0;
  std::string algorithm, protocol;
  std::uint32_t channels = 1, chunks = 1;
  double floor_us = 0;
  FloorCut floor_cut;
  double above_floor_percent = 0, algorithm_floor_us = 0;
  BoundBy bound_by;
  std::vector<ReliefResult> relief;
  std::optional<std::string> ours;
  std::optional<double> ours_time_us, against_ours_percent;
  std::optional<std::string> warning;
};
const Record& record_of(const ScheduleRowResult*);

std::vector<ScheduleRowResult> schedule_results(const formats::ImportedSchedule& schedule,
                                                const std::vector<ScheduleRow>& rows,
                                                const topology::Topology& topology);

struct MessageChain {
  double work = 0, transfer = 0, latency = 0;
};
const Record& record_of(const MessageChain*);

/// Messages from a file (GOAL, sends and receives of a trace) on a machine, rank r on GPU r.
struct MessagesResult {
  std::string cluster;
  double time_us = 0;
  std::uint64_t messages = 0, bytes = 0;
  double algorithm_floor_us = 0;
  BoundBy bound_by;
  MessageChain chain_us;
  // For views only:
  lowering::Bound bound;
};
const Record& record_of(const MessagesResult*);

Result<MessagesResult> time_messages(const formats::ImportedMessages& messages, predict::Predictor& machine);

}  // namespace busbar::questions
