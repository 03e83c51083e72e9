// --csv: the rows of a result as a table for spreadsheets and data frames, with the keys of --json as columns.
#pragma once

#include <string>

#include "busbar/base/json.h"

namespace busbar::views {

/// The command's main list (results, points, rows, flows, channels, layouts, hops, levels, claims, entries, parts,
/// findings), one line per member. Without such a list: one line of everything that is not a list. Objects become
/// columns like "bound_by.link", lists of words one cell with spaces; null and lists of objects are empty. Columns are
/// in order of first occurrence; numbers as in JSON; RFC 4180.
std::string csv_of(const Json& data);
/// The command's main list; null: it has none.
const Json* main_list(const Json& data);

}  // namespace busbar::views
