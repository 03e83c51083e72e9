#include "busbar/cli/session.h"

#include <fmt/core.h>

#include <ctime>

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/cli/streams.h"
#include "busbar/report/plain.h"
#include "busbar/views/csv_rows.h"

namespace busbar {

std::vector<Flag> output_flags(OutputOptions& o) {
  return {{"--json", "", "one JSON object on stdout instead of text", "Output", &o.json},
          {"--csv", "", "the rows as CSV instead of text, with the keys of --json as columns", "Output", &o.csv},
          {"--html", "FILE", "also write a self-contained page", "Output", &o.html}};
}

Json RunClock::to_json() const {
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start_;
  return {{"wall_s", wall.count()}, {"cpu_s", static_cast<double>(std::clock()) / CLOCKS_PER_SEC}};
}

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
