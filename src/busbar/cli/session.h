// Output of the result.
#pragma once

#include "busbar/base/json.h"
#include "busbar/base/result.h"
#include "busbar/lines/output_options.h"
#include "busbar/report/document.h"

namespace busbar {

/// Prints JSON, CSV or the terminal text on stdout, and writes the page if requested. `data` already holds the schema;
/// the key `run` is added if it is not there.
/// Returns the exit status: `status`, or 2 if stdout or a file could not be written. kAlready: the command has written
/// its own JSON to stdout, so nothing more goes there.
enum class Printed : std::uint8_t { kNot, kAlready };
Result<int> deliver(const OutputOptions& o, Json& data, const Document& document, int status = 0,
                    Printed printed = Printed::kNot);

}  // namespace busbar
