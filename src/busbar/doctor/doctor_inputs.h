// This host as an input of `busbar doctor`, and the archive to send.
#pragma once

#include <string>
#include <vector>

#include "busbar/doctor/evidence.h"
#include "busbar/doctor/fact_tables.h"

namespace busbar::doctor {

struct DoctorInputs {
  bool live = false;       ///< read this host
  std::string root = "/";  ///< or copies of its folders sys and proc
  std::string bundle;      ///< the archive to write; empty: none
  bool full = false;       ///< it holds all lines, not only those that a rule or reader uses
};

/// Adds what the host says about itself; nothing without `live`.
Status read_live(const DoctorInputs& o, const FactTables& tables, Evidence& evidence);

/// Writes the archive with the host and `files`, and what `evidence` lacks; nothing without a name for it.
Status write_bundle(const DoctorInputs& o, const std::vector<std::string>& files, const Evidence& evidence,
                    const FactTables& tables);

}  // namespace busbar::doctor
