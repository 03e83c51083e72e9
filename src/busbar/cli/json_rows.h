// JSON with a list that would need more memory as a document than what it is made of.
#pragma once

#include "busbar/base/json.h"
#include "busbar/base/record.h"
#include "busbar/base/result.h"

namespace busbar::cli {

/// Writes `data` to standard output, the elements of `list` one by one, one per line. `rows`: its field, whose value in
/// `data` is 0.
Status write_json(const Json& data, const Field& rows, const void* list);

}  // namespace busbar::cli
