// Machines and fabrics side by side: one step each, with money and power.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/base/context.h"
#include "busbar/cost/cost_options.h"
#include "busbar/cost/run_cost.h"
#include "busbar/questions/compare_packets.h"
#include "busbar/spec/fabric_words.h"
#include "busbar/step/train_run.h"
#include "busbar/step/train_variants.h"

namespace busbar::questions {

struct CompareAsk {
  std::vector<std::string> machines;  ///< as typed
  std::uint32_t gpus = 0;             ///< per machine; 0: all that it has
  std::string fabrics;                ///< as typed; empty: each machine's own
  std::uint32_t shapes = 0;           ///< chips of which every torus is tried; 0: each machine as it is
  std::vector<std::string> changes;   ///< with which each machine is tried again
  step::TrainInput input;             ///< model, layout, overrides; without machine
  step::TrainAsk train;
  cost::CostOptions cost;
  double tokens = 0;      ///< of a whole run; 0: none
  bool as_train = false;  ///< without a layout: that of `busbar train`, instead of a search for each machine
  bool has_model() const { return !input.flags.model.empty() || !input.scenario.empty(); }
};

/// A machine with a fabric and, maybe, a change.
struct CompareVariant {
  std::string machine;        ///< with its size: "dgx-h100:2048"
  spec::FabricWord fabric;    ///< empty: its own
  spec::Overrides overrides;  ///< of the machine, with its fabric
  step::TrainVariant step;    ///< empty for a collective
  std::uint32_t gpus = 0;     ///< that take part; 0: all
  std::string name() const;   ///< "dgx-h100:2048, roce, layout.pp=4"
};
/// All machines x fabrics x changes, in the order typed; without a model: without steps. Errors name the machine,
/// or the field `fabrics`, `shapes` or `variant`.
Result<std::vector<CompareVariant>> compare_variants(const CompareAsk& ask);

/// What a machine costs.
struct MachineCost {
  cost::Bill bill;
  cost::BillSums sums;
  cost::MachineRate rate;
};
Result<MachineCost> machine_cost(const spec::Cluster& cluster, const spec::PriceList& prices,
                                 const cost::CostTerms& terms);

/// What the transport of a fabric can change of the step.
struct TransportRange {
  std::optional<predict::NetworkPenalty> penalty;  ///< empty: none is known, and the range is the step's time
  double low_s = 0, high_s = 0;  ///< the least and the greatest of the step without, at its mean and at its p99
};

struct CompareRow {
  CompareVariant variant;
  step::TrainRun run;
  TransportRange transport;
  std::optional<PacketTimes> packets;  ///< where the fabric says how they are sent: the step is then theirs
  MachineCost cost;
  bool planned = false;  ///< its layout was searched for
  double usd_per_million_tokens_low = 0, usd_per_million_tokens_high = 0;
  double tokens_per_s() const;
  double rent_usd(const cost::WorkCost& work) const;  ///< of the machine for as long; 0: not known
};

/// Layouts that a search times per machine: a limit on layouts instead of time gives the same answer everywhere.
inline constexpr std::size_t kComparePlanTimed = 8;

/// One row per variant. Without a layout in the scenario, a search finds one per machine, on its first fabric; the
/// machine's other variants keep it. Stops early, with the rows so far, if a signal asks for it.
Result<std::vector<CompareRow>> run_compare(const CompareAsk& ask, const busbar::Context& context);

/// How far a row is from another one.
enum class Likeness : std::uint8_t {
  kDiffers,
  kTie,    ///< closer than the band of their difference
  kEqual,  ///< closer than that, and the engine has nothing that could tell them apart but rates, latencies and routes
};
/// The band of the difference of two times of one layout or call, in percent: what is left when shared errors cancel.
double band_of_difference(const std::string& machine_a, const predict::Band& a, const std::string& machine_b,
                          const predict::Band& b);
Likeness likeness(const CompareRow& a, const CompareRow& b);

/// How a row is called: "A", "B", ..., "Z", "AA", ...
std::string letter_of(std::size_t row);

/// How much longer or shorter a million tokens take than in the first row, in percent.
double percent_more_time(const CompareRow& row, const CompareRow& first);
/// All exposed communication, of the step.
double exposed_percent(const CompareRow& row);

}  // namespace busbar::questions
