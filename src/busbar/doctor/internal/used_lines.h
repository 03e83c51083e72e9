// The lines of a text that a rule or a reader uses, for a bundle.
#pragma once

#include <string>

#include "busbar/doctor/fact_tables.h"

namespace busbar::doctor {

/// Kept are lines that state facts, lines of NCCL, and rows and headings of tables, which consist of numbers and known
/// words. Of a command or an environment only the variables that the tables read are kept. Descriptions of machines and
/// networks are kept whole. Other lines leave a note of their number.
std::string used_lines(const std::string& text, const std::string& name, const FactTables& tables);

}  // namespace busbar::doctor
