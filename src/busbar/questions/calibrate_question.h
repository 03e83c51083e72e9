// A machine fitted to measured results.
#pragma once

#include <string>
#include <vector>

#include "busbar/accuracy/calibrate.h"
#include "busbar/questions/expect_question.h"
#include "busbar/questions/next_measurement.h"
#include "busbar/questions/question.h"

namespace busbar::accuracy {

const Record& record_of(const FittedQuantity*);
const Record& record_of(const FittedFigure*);
const Record& record_of(const CalibratedRow*);

}  // namespace busbar::accuracy

namespace busbar::questions {

struct CalibrateRequest {
  std::vector<std::string> results;  ///< files; without `cluster`, the last word may be the machine
  MeasuredRequest measured;          ///< its results are unused
  std::string overlay;               ///< file to write
  std::string job;                   ///< a line of train whose next measurement is asked for; empty: none
};
const Record& record_of(const CalibrateRequest*);

struct MedianError {
  double median_abs_percent = 0;
};
const Record& record_of(const MedianError*);

struct UnusedPart {
  std::vector<std::uint64_t> size_bytes;  ///< empty: the whole table
  std::string why;
};
const Record& record_of(const UnusedPart*);

struct UsedTable {
  std::string file, collective;
  std::uint32_t ranks = 0;
  std::uint64_t sizes = 0;
  std::vector<UnusedPart> unused;
};
const Record& record_of(const UsedTable*);

struct CalibrateResult {
  std::string cluster;
  MedianError before, after;
  double share = 1, latency_factor = 1, launch_us = 0;
  std::string verdict, why;
  std::vector<UsedTable> tables;
  std::vector<std::string> contradictions;
  std::vector<accuracy::FittedQuantity> quantities;
  std::vector<accuracy::FittedFigure> figures;
  std::vector<accuracy::CalibratedRow> rows;
  std::vector<NextMeasurement> next;
  std::string overlay, inputs_hash;
  int exit_status = 0;
  std::vector<OutputFile> files;
};
const Record& record_of(const CalibrateResult*);

Result<CalibrateResult> answer(const CalibrateRequest& request, const Context& context = {});

}  // namespace busbar::questions
