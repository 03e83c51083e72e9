// Machines and fabrics side by side: steps, collectives, where one machine catches up with another, and tables of links
// and optics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "busbar/questions/compare_calls.h"
#include "busbar/questions/compare_crossing.h"
#include "busbar/questions/compare_packets.h"
#include "busbar/questions/compare_run.h"
#include "busbar/questions/context.h"
#include "busbar/questions/layout_result.h"
#include "busbar/questions/predict_result.h"
#include "busbar/questions/step_result.h"
#include "busbar/questions/token_cost.h"
#include "busbar/spec/link_tables.h"

namespace busbar::questions {

struct CompareRequest {
  std::vector<std::string> machines;  ///< and maybe a collective; or "links", or "optics"
  std::vector<std::string> cluster;   ///< further machines
  std::string scenario;               ///< a file
  std::string from;                   ///< file of a job in the words of another program
  std::uint32_t gpus = 0;             ///< per machine; 0: all that it has
  std::string fabrics;
  std::uint32_t shapes = 0;
  std::vector<std::string> variant;
  std::string crossing, tokens, min_bytes, max_bytes;
  double step_factor = 2;
  std::string algorithms, scale;
  spec::ScenarioFlags flags;
  cost::CostOptions cost;
  predict::PredictOptions predict;
  std::string engine = "flow";
  spec::Overrides overrides;
};
const Record& record_of(const CompareRequest*);

/// What the transport of a fabric can change of a step.
struct TransportResult {
  PenaltyResult penalty;
  double step_low_s = 0, step_high_s = 0;
};
const Record& record_of(const TransportResult*);

struct ComparedStep {
  std::string variant, machine;
  std::optional<std::string> fabric, change, network, wiring;
  std::uint32_t gpus = 0;
  std::uint64_t gpus_bought = 0;
  LayoutResult layout;
  bool layout_searched = false, fits = true;
  double step_time_s = 0;
  std::int64_t step_time_ps = 0;
  double balanced_step_time_s = 0;
  double time_percent_more = 0, tokens_per_s = 0, tokens_per_s_per_gpu = 0, mfu = 0, exposed_percent = 0;
  std::optional<TransportResult> transport;
  std::optional<PacketTimes> packets;
  std::vector<std::string> ties_with, equal_by_construction_with;
  std::optional<double> capex_usd, capex_low_usd, capex_high_usd, network_usd;
  bool complete = true;
  double power_w = 0;
  std::optional<double> usd_per_million_tokens_low, usd_per_million_tokens_high, rent_usd_per_million_tokens;
  std::optional<double> kwh_per_million_tokens;
  std::optional<std::string> command;
  StepSeconds breakdown_s;
  std::optional<WholeRun> whole_run;
  std::vector<double> band_percent;
  std::string band_basis;
};
const Record& record_of(const ComparedStep*);

struct CompareSteps {
  std::string model;
  std::uint32_t global_batch = 0;
  std::string global_batch_basis, engine;
  double usd_per_kwh = 0, pue = 1, years = 1;
  std::string inputs_hash;
  std::vector<ComparedStep> rows;
  bool complete = true;
  int exit_status = 0;
  // For views only:
  std::vector<CompareRow> found;
  double tokens = 0;
};
const Record& record_of(const CompareSteps*);

struct CrossingRow {
  double value = 0, tokens_per_s = 0;
};
const Record& record_of(const CrossingRow*);

struct CrossingResult {
  std::string key, unit, machine;
  std::uint32_t gpus = 0;
  std::string against;
  std::uint32_t against_gpus = 0;
  double against_tokens_per_s = 0;
  std::optional<double> value;
  std::string answer;
  std::vector<CrossingRow> rows;
};
const Record& record_of(const CrossingResult*);

struct CompareCrossing {
  CrossingResult crossing;
  std::string engine, inputs_hash;
  bool complete = true;
  int exit_status = 0;
  MachineCrossing found;  ///< for views only
};
const Record& record_of(const CompareCrossing*);

struct ComparedCall {
  std::string machine;
  std::optional<std::string> fabric;
  std::uint32_t gpus = 0;
  std::string asked_algorithm;
  std::uint64_t size_bytes = 0;
  std::optional<std::string> refused;
  std::optional<double> time_us, busbw_GBps;
  std::optional<std::string> how, limit;
  std::optional<PacketTimes> packets;
  std::optional<std::optional<double>> capex_usd;
  std::optional<double> power_w;
  std::vector<double> band_percent;
  std::optional<std::string> band_basis;
};
const Record& record_of(const ComparedCall*);

struct CompareCalls {
  std::string collective, engine, inputs_hash;
  std::vector<ComparedCall> rows;
  bool complete = true;
  // For views only:
  std::vector<CallRow> found;
  CallsAsk asked;
};
const Record& record_of(const CompareCalls*);

struct ComparedLink {
  std::string name, entry;
  std::uint32_t year = 0, lanes = 1;
  double GBps_per_direction = 0, GBps_both_directions = 0;
  std::optional<double> copies_GBps;
  double times_pcie5_x16 = 0;
};
const Record& record_of(const ComparedLink*);

struct CompareLinks {
  std::string of = "links";
  std::vector<ComparedLink> rows;
  std::string inputs_hash;
};
const Record& record_of(const CompareLinks*);

struct ComparedOptics {
  std::string name, medium;
  double rate_Gbps = 0, reach_m = 0;
  std::optional<double> power_w, pj_per_bit;
  std::string sold_as;
  std::optional<double> usd_low, usd_high;
};
const Record& record_of(const ComparedOptics*);

struct CompareOptics {
  std::string of = "optics";
  std::vector<ComparedOptics> rows;
  std::string inputs_hash;
};
const Record& record_of(const CompareOptics*);

using CompareResult = std::variant<CompareSteps, CompareCrossing, CompareCalls, CompareLinks, CompareOptics>;
Result<CompareResult> answer(const CompareRequest& request, const Context& context = {});

}  // namespace busbar::questions
