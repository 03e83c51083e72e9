// Reads files and folders as evidence.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/base/stop_flag.h"
#include "busbar/doctor/evidence.h"
#include "busbar/doctor/fact_tables.h"

namespace busbar {

/// Files in order; a folder stands for all files below it, by name. Error kNotFound if there is no such file.
Result<std::vector<std::string>> evidence_files(const std::vector<std::string>& words);

/// Adds the facts of a file, or of all files of an archive of tar. A file whose reading stops early (packed data that
/// is cut, `stop`) is read as far as it goes, and its entry says why it stopped. Error if it cannot be opened.
Status read_evidence(const std::string& file, const FactTables& tables, Evidence& evidence, StopFlag stop = nullptr);

}  // namespace busbar
