// Tables of nccl-tests among the inputs of `busbar doctor`, judged as `busbar expect` judges them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/accuracy/fault_search.h"
#include "busbar/base/json.h"
#include "busbar/cli/session.h"
#include "busbar/doctor/evidence.h"
#include "busbar/report/document.h"

namespace busbar {

struct JudgedTable {
  std::string file, cluster;  ///< cluster: empty: the machine is not known
  bool proposed = false;      ///< the machine is taken from the file
  Collective op = Collective::kAllReduce;
  std::optional<Expectation> expected;     ///< absent where the table was not judged
  std::optional<FaultSearchResult> found;  ///< absent if the table is good
  std::string refused;                     ///< why it was not judged
};

/// Judges each file with a table against `cluster`, or against the machine that the file names. Error kInvalid, which
/// asks for --collective, for a table that does not name its operation.
Result<std::vector<JudgedTable>> judge_tables(const Evidence& evidence, const CommonOptions& common,
                                              const std::string& cluster, const std::string& op);

/// The table is below the threshold.
bool table_fails(const JudgedTable& table);

Json to_json(const JudgedTable& table);
/// Tables that are low come first, others after the summary. Pre: the document begins with a summary.
void add_tables(Document& document, const std::vector<JudgedTable>& tables);

}  // namespace busbar
