// Reports with a list that would need more memory as a document than the simulation itself.
#pragma once

#include <functional>
#include <string>

#include "busbar/base/json.h"
#include "busbar/cli/session.h"

namespace busbar {

struct JsonRows {
  std::string key;  ///< key of the list in the report, which has a placeholder of any value there
  std::size_t count = 0;
  std::function<const Json&(std::size_t)> row;  ///< valid until the next call
};

/// As deliver(); with --json the rows are written one by one, one per line. `document` is called only if needed.
Result<int> deliver_rows(const CommonOptions& o, Json data, const JsonRows& rows,
                         const std::function<Document()>& document, int status = 0);

}  // namespace busbar
