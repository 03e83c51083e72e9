#include "busbar/cli/session.h"

#include <fmt/core.h>

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/cli/streams.h"
#include "busbar/report/plain.h"
#include "busbar/views/csv_rows.h"

namespace busbar {

Result<int> deliver(const OutputOptions& o, Json& data, const Document& document, int status, Printed printed) {
  if (o.json && o.csv) return flag_error("--csv", "excludes --json; use one of them");
  if (!data.contains("run")) data["run"] = o.clock.to_json();
  if (printed == Printed::kNot)
    status = print_out(o.csv    ? csv_of(data)
                       : o.json ? data.dump(2) + "\n"
                                : render_text(document, text_options()),
                       status);
  if (o.html.empty()) return status;
  BUSBAR_RETURN_IF_ERROR(write_file(o.html, render_html(document)));
  return o.for_programs() ? status : print_out(fmt::format("\nreport: {}\n", escape_terminal(o.html, true)), status);
}

}  // namespace busbar
