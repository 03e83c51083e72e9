// A schedule from a file on a machine: proved, timed, and compared with our own algorithms and the floor.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/collective_options.h"
#include "busbar/cli/long_run.h"
#include "busbar/formats/import.h"
#include "busbar/predict/predictor.h"

namespace busbar {

/// Reads and proves it. Error for files of kinds without a schedule.
Result<ImportedSchedule> load_schedule(const std::string& file);

/// One size of a schedule from a file.
struct ScheduleRow {
  Bytes size{};
  Duration time, algorithm_floor;
  Floor floor;
  Bound bound;
  std::string warning;  ///< of below_floor()
  std::uint32_t loops = 1;
  std::string ours;  ///< the fastest of our algorithms, "" if none can be timed
  Duration ours_time;
};

/// Times it message by message. `loops`: number of parts of the buffer that run one after another; 0: the fastest
/// number, down to the machine's chunk size. Stops early, with the sizes so far, if `watch` requests it.
Result<std::vector<ScheduleRow>> time_schedule(const ImportedSchedule& schedule, Predictor& machine,
                                               const std::vector<Bytes>& sizes, std::uint32_t loops, LongRun& watch);
Table schedule_table(const ImportedSchedule& schedule, const std::vector<ScheduleRow>& rows, const Cluster& cluster);
Json schedule_json(const ImportedSchedule& schedule, const std::vector<ScheduleRow>& rows, const Cluster& cluster);

/// Times messages from a file (GOAL, sends and receives of a trace) on a machine, rank r on GPU r.
Status time_messages(const ImportedMessages& messages, Predictor& machine, Json& json, Document& document);

/// `busbar collective CLUSTER OP --schedule FILE`.
Result<int> run_schedule(const CollectiveOptions& o);

/// `--out FILE` of `busbar collective`: writes the schedule of the summary's row as MSCCL XML or as a plan of MSCCL++
/// (.json) for the timed sizes; the messages of its size as GOAL or as a Chakra trace (.et, a file per rank); its flows
/// as CSV; or the picks of all sizes for NCCL's tuner (.conf).
Status write_schedule(const std::string& file, const Predictor& machine, const std::vector<Prediction>& rows);

}  // namespace busbar
