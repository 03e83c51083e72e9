// A machine fitted to a user's results: `busbar calibrate`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/accuracy/expect.h"
#include "busbar/accuracy/link_fit.h"

namespace busbar::accuracy {

enum class CalibrationVerdict : std::uint8_t {
  kFits,
  kBroken,      ///< much slower than machines of its kind: look for the fault
  kDoesNotFit,  ///< no table, or no part of one, is of such a machine
};
const char* name_of(CalibrationVerdict verdict);  ///< "fits", "broken machine", "does not fit"

/// Results of one operation, and how they were measured.
struct OwnResults {
  std::string file;
  MeasuredResults results;
  ExpectOptions options;
};

/// A rate or a latency of the machine, relative to the expected one: nine tenths of what the tables allow.
struct FittedQuantity {
  std::string what, collective;
  bool several_nodes = false;
  double percent = 100, low_percent = 100, high_percent = 100;
};

/// A size of a table that was used: as measured, and as predicted before and after the fit.
struct CalibratedRow {
  std::string file, collective;
  std::uint32_t ranks = 0;
  std::uint64_t size_bytes = 0;
  double measured_us = 0, before_us = 0, after_us = 0;
};

struct Calibration {
  double before_percent = 0, after_percent = 0;  ///< median |error| of the predictions
  double share = 1;                              ///< measured rates, relative to the expected rates
  double latency = 1;                            ///< measured latencies, relative to the expected ones
  double launch_us = 0;                          ///< expected time before the first byte
  CalibrationVerdict verdict = CalibrationVerdict::kFits;
  std::string why;
  std::vector<CalibratedTable> tables;      ///< then tests of links
  std::vector<FittedFigure> figures;        ///< of links
  std::vector<std::string> contradictions;  ///< sizes of one call for which two tables differ
  std::vector<FittedQuantity> quantities;
  std::vector<CalibratedRow> rows;           ///< table by table, the smallest size first
  std::vector<program::MeasuredCall> calls;  ///< that the machine was fitted to
  std::string overlay;  ///< if it fits: the complete cluster file, with the flags and the measured tables
  std::string inputs;
};

/// Fits figures of links to `links` first, then MeasuredCalls to all results, as times of the machine with these
/// figures. Tables that the cluster file already has stay, except for equal calls; with `links` they are modelled
/// again, on the first GPUs of the machine. `cluster` of all options is the same; `machine` is for links without
/// tables. Not used, and named: tables of more ranks than the machine has, or of other GPUs; sizes below the machine's
/// floor; a size whose neighbours both differ from it by more than 1.5 times in the same direction. Broken: rates below
/// 60 % at the sizes that rates bound, or latencies above 1.6 times and 100 us more. Error kInvalid if no table is of a
/// number of ranks that the machine has.
/// Without tables and tests of links, the machine as it is.
Result<Calibration> calibrate(const std::vector<OwnResults>& tables, const std::vector<LinkTest>& links = {},
                              const ExpectOptions& machine = {});

}  // namespace busbar::accuracy
