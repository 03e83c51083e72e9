// Peak memory of published training runs: the table with the column peak_GiB.
#include <fmt/core.h>

#include "busbar/accuracy/internal/measured_machine.h"
#include "busbar/accuracy/internal/training_row.h"
#include "busbar/accuracy/validate.h"
#include "busbar/topology/gpu_memory.h"
#include "busbar/workload/memory.h"

namespace busbar::accuracy {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

std::string parts_in_words(const workload::MemoryUse& m) {
  const auto gib = [](Bytes b) { return static_cast<double>(count(b)) / kGiB; };
  return fmt::format(
      "stage {}: states {:.1f}, activations {:.1f}, logits {:.1f}, gathered {:.1f}, recomputed {:.1f}, others {:.1f} "
      "GiB",
      m.stage, gib(m.parameters) + gib(m.gradients) + gib(m.optimizer), gib(m.activations), gib(m.logits),
      gib(m.gathered), gib(m.recomputed), gib(m.temporary) + gib(m.fragmentation) + gib(m.workspace));
}

/// The part of memory that the row's figure counts; the whole if the run ended for want of memory.
Result<Bytes> counted_part(const std::string& basis, const workload::MemoryUse& use) {
  if (basis == "allocated") return use.allocated();
  if (basis == "reserved") return use.reserved();
  if (basis == "device" || basis == "oom") return use.total();
  return unsupported(fmt::format("basis '{}' is none of allocated, reserved, device and oom", basis));
}

Status score(const CsvTable& table, std::size_t row, const ValidateOptions& options, RowCatalog& files,
             ScoredRow& out) {
  BUSBAR_ASSIGN(StepQuestion question, question_of_row(table, row, files));
  question.scenario.cluster = table.cell(row, "node");
  BUSBAR_ASSIGN(const spec::Scenario scenario,
                spec::scenario_from_flags(question.scenario, question.overrides, files.catalog()));
  const auto layout = workload::resolve_layout(scenario.layout, scenario.model, 0);
  if (!layout.ok()) return unsupported(layout.error().message);
  const workload::MemoryUse use = workload::memory_use(scenario.model, *layout);
  const std::string& basis = table.cell(row, "basis");
  BUSBAR_ASSIGN(const Bytes predicted, counted_part(basis, use));
  out.predicted = static_cast<double>(count(predicted)) / kGiB;
  out.how = parts_in_words(use);
  out.gpus = layout->ranks();
  if (basis != "oom") {
    BUSBAR_ASSIGN(const auto peak, table.number(row, "peak_GiB"));
    if (!peak || *peak <= 0) return unsupported("no peak");
    out.measured = *peak;
    return {};
  }
  BUSBAR_ASSIGN(const MeasuredMachine described, machine_of_row(table, row, files.catalog()));
  BUSBAR_ASSIGN(const spec::Cluster cluster, spec::parse_cluster(described.text, described.node, options.overrides));
  out.measured = static_cast<double>(count(topology::gpu_memory(cluster.topology))) / kGiB;
  out.counts = false;  // no figure: only whether it fits
  out.how += out.predicted > out.measured ? "; does not fit, as reported" : "; FITS, but the run did not";
  return {};
}

}  // namespace

Result<std::vector<ScoredRow>> validate_memory(const CsvTable& table, const std::vector<std::size_t>& rows,
                                               const ValidateOptions& options) {
  RowCatalog files(options.overrides.catalog);
  std::vector<ScoredRow> out;
  for (const std::size_t row : rows) {
    if (options.go_on && !options.go_on(out.size(), rows.size())) break;
    ScoredRow s = begin_scored_row(table, row);
    s.id_key = "row_id";
    s.unit = "GiB";
    s.id = table.cell(row, "row_id");
    s.configuration =
        fmt::format("{} on {} {}, {} tokens (row {})", table.cell(row, "model"), table.cell(row, "gpus_total"),
                    table.cell(row, "gpu"), table.cell(row, "seq_len"), s.id);
    s.kind = table.cell(row, "framework");
    if (const Status status = score(table, row, options, files, s); !status.ok()) {
      if (status.error().code == ErrorCode::kInvalid) return status.error();
      s.unsupported = status.error().message;
    }
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace busbar::accuracy
