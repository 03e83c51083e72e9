#include "busbar/cli/session.h"

#include <fmt/core.h>

#include <ctime>

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/questions/bound_by.h"
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

void add_common_flags(Command& c, CommonOptions& o, Engines engines, bool with_explain) {
  if (engines == Engines::kAll)
    c.flags.push_back({"--engine", "NAME", "analytic, flow (default) or packet", "Machine", &o.engine,
                       one_of("analytic", "flow", "packet")});
  if (engines == Engines::kFluids)
    c.flags.push_back(
        {"--engine", "NAME", "flow (default) or analytic", "Machine", &o.engine, one_of("analytic", "flow")});
  c.add({
      {"--set", "PATH=VALUE", "change one key of the cluster file, e.g. fabric.oversubscription=2", "Machine",
       &o.overrides.set},
      {"--degrade", "SELECTOR=FACTOR", "reduce links to FACTOR of their rate, e.g. node5.nic2=0.5; globs allowed",
       "Machine", &o.overrides.degrade},
      {"--fail", "SELECTOR", "remove links, e.g. leaf3-spine1; globs allowed", "Machine", &o.overrides.fail},
      {"--nodes", "N", "the first N nodes (scale-up domains) of the machine; of a preset without a size, N of it",
       "Machine", &o.overrides.nodes},
      {"--gpu", "PART", "product of GPUs that the machine's file does not name, e.g. h100-sxm (see catalog gpus)",
       "Machine", &o.overrides.gpu},
      {"--gpu-memory-rate", "RATE", "memory rate of every GPU, e.g. 8TB/s; affects collectives and kernels", "Machine",
       &o.overrides.gpu_memory_rate},
      {"--catalog", "DIR", "read product data from DIR before $BUSBAR_CATALOG and the built-in files", "Machine",
       &o.overrides.catalog},
  });
  c.add(output_flags(o));
  if (with_explain)
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

namespace {

const char* word(BoundKind k) { return k == BoundKind::kBandwidth ? "bandwidth" : "latency"; }

}  // namespace

std::string brand_of(const LinkClass& link) { return questions::brand_of(link); }

std::string link_class_name(LinkId link, const Topology& t) { return questions::part_of(t, link); }

Json bound_to_json(const Bound& b, const Topology& t) {
  Json j{{"link", nullptr}, {"class", nullptr}, {"phase", b.phase}, {"kind", nullptr}};
  if (b.link == kNone<LinkId>) return j;
  j["link"] = t.name(b.link);
  j["class"] = link_class_name(b.link, t);
  j["kind"] = word(b.kind);
  return j;
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
