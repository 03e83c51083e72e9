// What a file of another program is, what it holds, and how long that takes on a machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/record.h"
#include "busbar/formats/import_set.h"
#include "busbar/predict/predict_options.h"
#include "busbar/predict/predictor.h"
#include "busbar/questions/context.h"
#include "busbar/questions/question.h"
#include "busbar/questions/schedule_times.h"
#include "busbar/questions/trace_times.h"

namespace busbar::formats {

const Record& record_of(const UnknownPart*);

}  // namespace busbar::formats

namespace busbar::questions {

struct ImportRequest {
  std::string file, kind;
  std::string rows;     ///< file to write
  std::string cluster;  ///< empty: nothing is timed
  std::string groups, min_bytes, max_bytes;
  double step_factor = 4;
  predict::PredictOptions predict;
  spec::Overrides machine;
};
const Record& record_of(const ImportRequest*);

struct ImportResult {
  std::string file, kind;
  Json found;
  std::vector<std::string> notes;
  std::vector<formats::UnknownPart> unknown;
  std::string inputs_hash;
  int exit_status = 0;
  std::vector<OutputFile> files;
};
const Record& record_of(const ImportResult*);

/// A file whose content was timed.
template <typename Times>
struct TimedImport {
  ImportResult import;
  Times timed;
  int exit_status = 0;
  std::vector<OutputFile> files;
  // For views only:
  std::shared_ptr<const predict::Predictor> machine;
};
template <typename Times>
const Record& record_of(const TimedImport<Times>*) {
  using T = TimedImport<Times>;
  static const Record record("timed import",
                             joined({fields_inside(&T::import), {Field("timed", &T::timed, "", "on the machine")}}));
  return record;
}

struct ScheduleTimes {
  std::string cluster;
  std::vector<ScheduleRowResult> results;
  // For views only:
  std::shared_ptr<const formats::ImportedSchedule> schedule;
  std::vector<ScheduleRow> rows;
};
const Record& record_of(const ScheduleTimes*);

/// Of a folder or an archive. A file of no kind has only a name.
struct ImportSetFile {
  std::string file, what;
  std::optional<std::string> kind;
  std::optional<Json> found;
  std::optional<std::vector<std::string>> notes;
  std::optional<std::vector<formats::UnknownPart>> unknown;
};
const Record& record_of(const ImportSetFile*);

struct ImportSetResult {
  std::string file, kind = "set";
  std::vector<ImportSetFile> members;
  Json log;  ///< NCCL's lines as those of one job; null: none
  std::string inputs_hash;
  std::vector<OutputFile> files;
  // For views only:
  std::optional<ImportResult> job;  ///< of `log`
};
const Record& record_of(const ImportSetResult*);

using ImportAnswer = std::variant<ImportResult, TimedImport<TraceTimes>, TimedImport<MessagesResult>,
                                  TimedImport<ScheduleTimes>, ImportSetResult>;
Result<ImportAnswer> answer(const ImportRequest& request, const Context& context = {});

}  // namespace busbar::questions
