// Predictions next to measurements: every row of a table, and how far the predictions are off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/accuracy/own_table.h"
#include "busbar/accuracy/summary.h"
#include "busbar/base/record.h"
#include "busbar/predict/predict_options.h"
#include "busbar/questions/context.h"
#include "busbar/spec/cluster.h"

namespace busbar::accuracy {

const Record& record_of(const ErrorSummary*);
const Record& record_of(const BandSummary*);
const Record& record_of(const TwinSpread*);
const Record& record_of(const OwnTableLine*);

}  // namespace busbar::accuracy

namespace busbar::questions {

struct ValidateRequest {
  std::string file, only;
  std::vector<std::string> more;  ///< further tables
  bool leave_out = false, own_table = false;
  std::uint32_t worst = 12;
  predict::PredictOptions predict;
  std::string engine = "analytic";
  spec::Overrides machine;
};
const Record& record_of(const ValidateRequest*);

/// A measured row and its prediction.
struct ValidatedRow {
  std::optional<std::string> source_id, row_id;  ///< one of both
  std::optional<std::uint64_t> size_bytes;
  double predicted = 0, measured = 0, error_percent = 0;
  std::string unit, node, gpu;
  bool several_nodes = false;
  std::string fabric, kind;
  bool scored = true;
  std::string how, bound_by;
  std::optional<double> memory_share;
  std::string library;
  std::optional<std::string> kernels, command, joined;
  std::optional<bool> p2p;
  std::optional<std::string> model, layers;
  std::optional<std::vector<double>> band_percent;
  std::optional<std::string> band_class;
  std::optional<double> without_source;
};
const Record& record_of(const ValidatedRow*);

struct RightOrder {
  std::uint64_t pairs = 0, right = 0;
  double right_percent = 0;
};
const Record& record_of(const RightOrder*);

struct FoundFastest {
  std::uint64_t sweeps = 0, found = 0;
  double found_percent = 0;
};
const Record& record_of(const FoundFastest*);

/// How near the best prediction the fastest layout of a job is.
struct TiesOfJobs {
  std::uint64_t jobs = 0, sources = 0;
  double percent = 0, held_percent = 0, tied = 0;
};
const Record& record_of(const TiesOfJobs*);

struct LayoutRatios {
  std::uint64_t jobs = 0, pairs = 0;
  double p90_percent = 0;
};
const Record& record_of(const LayoutRatios*);

struct AfterOneStep {
  std::uint64_t jobs = 0, pairs = 0;
  double before_percent = 0, after_percent = 0, p90_percent = 0;
};
const Record& record_of(const AfterOneStep*);

struct ErrorsOfTable {
  Named<accuracy::ErrorSummary> by_band;
  Named<accuracy::BandSummary> bands;
  Named<accuracy::TwinSpread> twins;
  Named<accuracy::ErrorSummary> by_node, by_fabric, by_kind, by_layers, by_model;
  Named<Named<accuracy::ErrorSummary>> by_node_and_band;
  RightOrder order;
  FoundFastest sweeps;
  LayoutRatios layouts;
  AfterOneStep after_one_step;
  TiesOfJobs ties;
};
const Record& record_of(const ErrorsOfTable*);

struct FarthestRow {
  std::string configuration, band;
  double error_percent = 0;
  std::string how, bound_by;
  // For views only:
  double predicted = 0, measured = 0;
  std::string unit;
};
const Record& record_of(const FarthestRow*);

struct ModelLeftOut {
  std::string model;
  accuracy::ErrorSummary with;
  double launch_us = 0;
  accuracy::ErrorSummary without;
};
const Record& record_of(const ModelLeftOut*);

struct PartLeftOut {
  std::string name;
  accuracy::ErrorSummary with, without;
};
const Record& record_of(const PartLeftOut*);

struct PartsLeftOut {
  std::vector<PartLeftOut> parts;
  PartLeftOut all;
  std::vector<double> measured_percent;
};
const Record& record_of(const PartsLeftOut*);

struct FittedTo {
  std::string constant, of;
  double catalog = 1, fitted = 1;
};
const Record& record_of(const FittedTo*);

/// Errors of a part of the rows if constants had been set on the others.
struct LeftOutResult {
  std::optional<std::vector<ModelLeftOut>> models;
  std::optional<accuracy::ErrorSummary> all;
  std::optional<PartsLeftOut> gpus, generations, frameworks, series;
  std::optional<std::vector<FittedTo>> constants;
  std::optional<PartLeftOut> never_fitted;
  // For views only:
  accuracy::ErrorSummary with_catalog, with_fitted;  ///< of all dense rows
};
const Record& record_of(const LeftOutResult*);

/// What the user's own tables do to the other answers for that machine: OwnTableJudgement.
struct OwnTablesResult {
  std::vector<accuracy::OwnTableLine> lines;
  bool carry_over_as_learnt = true;
};
const Record& record_of(const OwnTablesResult*);

struct ValidateResult {
  std::string file, engine;
  bool complete = true;
  std::vector<ValidatedRow> rows;
  Named<std::uint64_t> unsupported, libraries;
  ErrorsOfTable summary;
  std::vector<FarthestRow> worst;
  std::optional<LeftOutResult> left_out;
  std::optional<OwnTablesResult> own_tables;
  // For views only:
  std::uint64_t all_rows = 0;  ///< also those without a prediction
};
const Record& record_of(const ValidateResult*);

Result<ValidateResult> answer(const ValidateRequest& request, const Context& context = {});

}  // namespace busbar::questions
