// The files of a folder or an archive, such as one log per host or rank of a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/base/input.h"
#include "busbar/formats/import.h"

namespace busbar::formats {

struct ImportedFile {
  std::string name;
  ImportReport report;
  std::string refused;  ///< why there is no report; empty: there is one
};

struct ImportSet {
  std::vector<ImportedFile> files;
  std::optional<ImportReport> log;  ///< NCCL's lines in all files, read as one job; absent without any
};

/// Reads `first` and what follows it in `rest`. `kind`: as for import_source(). A file that cannot be read does not
/// stop the others.
ImportSet import_set(Result<std::optional<Input>> first, InputFiles rest, const topology::PartFigures& figures,
                     const std::string& kind);

}  // namespace busbar::formats
