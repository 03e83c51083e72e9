// One command with many settings, into a database and tables; can be stopped and resumed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/record.h"
#include "busbar/questions/context.h"
#include "busbar/study/study_store.h"

namespace busbar::questions {

struct SweepRequest {
  std::string file, out;
  std::uint32_t threads = 0;
  std::string shard;
  std::vector<std::string> merge;  ///< files, or patterns such as part*.db
  bool cells_left = false;
};
const Record& record_of(const SweepRequest*);

struct SweepResult {
  std::uint64_t cells = 0, rows = 0, failed = 0;
  bool complete = false;
  std::optional<std::uint64_t> cells_left;
  std::optional<std::string> shard;  ///< that srun gave this process
  std::string database, csv, jsonl, inputs_hash;
  int exit_status = 0;
  Json of_run;          ///< {"threads", "workers", "lost_workers", "new_cells"}
  bool silent = false;  ///< this process has run cells for another one
  // For views only:
  std::vector<study::StudyRow> done;  ///< in the order of cells
  std::string first_failure;
  std::uint64_t known = 0;        ///< cells that were done before
  std::uint64_t workers = 0;      ///< processes that mpirun started for cells
  std::vector<int> lost_workers;  ///< their ranks
  std::uint64_t repeated = 0;     ///< cells of lost workers that ran again
};
const Record& record_of(const SweepResult*);

/// Writes the database. The tables are left to the view.
Result<SweepResult> answer(const SweepRequest& request, const Context& context = {});

}  // namespace busbar::questions
