#include "busbar/cli/session.h"

#include <fmt/core.h>

#include <ctime>

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/cli/question_command.h"
#include "busbar/questions/machine_request.h"
#include "busbar/questions/question.h"
#include "busbar/report/plain.h"
#include "busbar/views/csv_rows.h"

namespace busbar {

Command new_command(CommonOptions& o, const std::string& typed, std::string name, std::string summary) {
  o.typed = typed;
  Command c;
  c.name = std::move(name);
  c.summary = std::move(summary);
  c.settings = &o.settings;
  c.given = &o.given;
  return c;
}

std::vector<Flag> output_flags(CommonOptions& o) {
  return {{"--json", "", "one JSON object on stdout instead of text", "Output", &o.json},
          {"--csv", "", "the rows as CSV instead of text, with the keys of --json as columns", "Output", &o.csv},
          {"--html", "FILE", "also write a self-contained page", "Output", &o.html}};
}

void add_common_flags(Command& c, CommonOptions& o) {
  c.flags.push_back({"--engine", "NAME", "analytic, flow (default) or packet", "Machine", &o.engine,
                     one_of("analytic", "flow", "packet")});
  c.add(flags_of(record_of(&o.overrides), &o.overrides));
  c.add(output_flags(o));
  c.flags.push_back({"--explain", "", "show the gain from improving each kind of link", "Output", &o.explain});
}

Positional cluster_word(std::string& cluster, bool required) {
  return {"CLUSTER",
          "preset (dgx-h100), NAME:N (N nodes on their default fabric) or a file (YAML, NCCL topology XML, hwloc XML, "
          "nvidia-smi matrix); also --cluster",
          &cluster,
          required,
          nullptr,
          "; such as dgx-h100, dgx-b200:64, gb200-nvl72, mi300x-8 or rtx4090-pcie; 'busbar catalog nodes' lists all"};
}
Flag cluster_flag(std::string& cluster) {
  return {"--cluster", "CLUSTER", "the machine: preset, NAME:N or file; also as the argument CLUSTER", "Machine",
          &cluster};
}

Json RunClock::to_json() const {
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start_;
  return {{"wall_s", wall.count()}, {"cpu_s", static_cast<double>(std::clock()) / CLOCKS_PER_SEC}};
}

std::string inputs_hash(const CommonOptions& o, std::string_view read) {
  return questions::inputs_hash(std::string_view(o.settings), read);
}

Result<int> deliver(const CommonOptions& o, Json& data, const Document& document, int status, Printed printed) {
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
