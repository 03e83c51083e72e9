// --csv: the rows of a result as a table for spreadsheets and data frames, with the keys of --json as columns.
#pragma once

#include <string>

#include "busbar/base/json.h"

namespace busbar {

/// The list a command is about (results, points, rows, flows, channels, layouts, hops, levels, entries), one line each;
/// without such a list one line of all that is not a list. Objects inside become columns "bound_by.link", lists of
/// words one cell with spaces, null and lists of objects nothing. Columns stand in the order of first occurrence;
/// numbers as in JSON; RFC 4180.
std::string csv_of(const Json& data);

}  // namespace busbar
