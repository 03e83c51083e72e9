// A measured row and its prediction, for any kind of table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "busbar/base/csv.h"
#include "busbar/predict/band.h"
#include "busbar/predict/request.h"
#include "busbar/program/measured_calls.h"
#include "busbar/spec/scenario.h"

namespace busbar::accuracy {

/// Everything that the time of a step depends on: the content of a command line of `busbar train`.
struct StepQuestion {
  spec::ScenarioFlags scenario;
  spec::Overrides overrides;
  std::string engine;
  predict::PredictOptions predict;
};

struct ScoredRow {
  std::size_t row = 0;               ///< in the table
  const char* id_key = "source_id";  ///< or "row_id"
  std::string id;
  std::string configuration;     ///< rows of one configuration are reduced to their median before scoring
  std::uint64_t size_bytes = 0;  ///< 0: the row has no size
  double predicted = 0, measured = 0;
  const char* unit = "us";
  std::uint32_t gpus = 0;          ///< number that takes part; 0: unknown
  std::string gpu;                 ///< their catalogue name
  bool several_nodes = false;      ///< collectives: ranks in more than one block of the machine
  std::string joined;              ///< collectives: the kind of links between the GPUs: "switch", "mesh", "pcie"
  bool p2p = true;                 ///< collectives: reaches_peers() of the machine
  predict::Band band;              ///< empty basis: no band
  std::string node, fabric, kind;  ///< kind: the collective, the path, or the framework
  std::string model;               ///< training: its name in the table
  std::string layers;              ///< training: "dense" or "experts"
  std::string band_class;          ///< bands are judged by it: a size band, or layers and links between the GPUs
  std::string sweep;               ///< training: equal in rows that differ only in their layouts; empty: none
  double kernel_share = 0;         ///< training: of the predicted step: kernels and what waits for them
  double memory_share = 0;         ///< training: predicted peak memory, of the GPU's; 0: unknown
  std::string how;                 ///< the predicted variant: "ring, simple, 16 channels"
  std::string bound_by;            ///< in words
  std::string library;             ///< the library whose rules chose: "NCCL 2.27"; empty: none
  std::optional<predict::CollectiveRequest> asked;  ///< collectives: the request that gives `predicted`
  std::optional<StepQuestion> step;                 ///< training: the question whose answer is `predicted`
  program::CallTraits traits{};                     ///< collectives: what measured calls know the row by
  bool counts = true;       ///< whether the row is scored: use=accuracy, or the table has no such column
  std::string unsupported;  ///< why there is no prediction; empty: there is one

  double error_percent() const { return (predicted / measured - 1) * 100; }
  bool in_band() const {
    return measured >= predicted * (1 + band.low_percent / 100) &&
           measured <= predicted * (1 + band.high_percent / 100);
  }
};

/// Data common to all tables: the row's source, which is also its configuration, its board, and whether it counts.
inline ScoredRow begin_scored_row(const CsvTable& table, std::size_t row) {
  ScoredRow s;
  s.row = row;
  s.id = s.configuration = table.cell(row, "source_id");
  s.node = table.cell(row, "node");
  const std::string& use = table.cell(row, "use");
  s.counts = use.empty() || use == "accuracy";
  return s;
}

}  // namespace busbar::accuracy
