// Reports with a list so long that as a document in memory it would outweigh the simulation.
#pragma once

#include <functional>
#include <string>

#include "busbar/base/json.h"
#include "busbar/cli/session.h"

namespace busbar {

struct JsonRows {
  std::string key;  ///< of the list in the report; stands in it where the list is to be, with any value
  std::size_t count = 0;
  std::function<const Json&(std::size_t)> row;  ///< valid until the next call
};

/// As deliver(); with --json the rows are written one by one, each on one line. `document` is asked only where needed.
int deliver_rows(const CommonOptions& o, Json data, const JsonRows& rows, const std::function<Document()>& document,
                 int status = 0);

}  // namespace busbar
