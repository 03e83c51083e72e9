// A measured row with its prediction beside it, whatever the table it came from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "busbar/base/csv.h"
#include "busbar/predict/request.h"
#include "busbar/predict/band.h"

namespace busbar {

struct ScoredRow {
  std::size_t row = 0;               ///< of the table
  const char* id_key = "source_id";  ///< or "row_id"
  std::string id;
  std::string configuration;     ///< rows of one configuration are reduced to their median before they are scored
  std::uint64_t size_bytes = 0;  ///< 0: has none
  double predicted = 0, measured = 0;
  const char* unit = "us";
  std::uint32_t gpus = 0;          ///< that take part; 0: unknown
  std::string gpu;                 ///< catalogue name of them
  bool several_nodes = false;      ///< collectives: ranks in more than one block of the machine
  std::string joined;              ///< collectives: what joins the GPUs: "switch", "mesh", "pcie"
  Band band;                       ///< basis empty: has none
  std::string node, fabric, kind;  ///< kind: the collective, the path, or the framework
  std::string how;                 ///< what was predicted: "ring, simple, 16 channels"
  std::string bound_by;            ///< in words
  std::string library;             ///< whose rules chose: "NCCL 2.27"; empty: nobody's
  std::optional<CollectiveRequest> asked;  ///< collectives: what gives `predicted`
  bool counts = true;              ///< whether the row is one to be scored: use=accuracy, or the table does not say
  std::string unsupported;         ///< why there is no prediction; empty: there is one

  double error_percent() const { return (predicted / measured - 1) * 100; }
  bool in_band() const {
    return measured >= predicted * (1 + band.low_percent / 100) && measured <= predicted * (1 + band.high_percent / 100);
  }
};

/// What every table says of a row: its source, which is its configuration as well, its board, and whether it counts.
inline ScoredRow begin_scored_row(const CsvTable& table, std::size_t row) {
  ScoredRow s;
  s.row = row;
  s.id = s.configuration = table.cell(row, "source_id");
  s.node = table.cell(row, "node");
  const std::string& use = table.cell(row, "use");
  s.counts = use.empty() || use == "accuracy";
  return s;
}

}  // namespace busbar
