// Reads files and folders as evidence.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/base/stop_flag.h"
#include "busbar/doctor/evidence.h"
#include "busbar/doctor/fact_tables.h"

namespace busbar::doctor {

/// Adds the facts of a file, of all files below a folder, or of an archive. A file whose reading stops early (packed
/// data that is cut, `stop`) is read as far as it goes, and its entry says why it stopped; so does a file of several
/// that cannot be opened. Error if a file alone cannot be opened, or if there is none.
Status read_evidence(const std::string& name, const FactTables& tables, Evidence& evidence, StopFlag stop = nullptr);

/// Titles of the tables that read lines at the beginning of the file: "output of ibstat".
Result<std::vector<std::string>> evidence_in(const std::string& name, const FactTables& tables);

}  // namespace busbar::doctor
