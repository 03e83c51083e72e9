// Reports of files that hold a schedule.

#include "busbar/base/json.h"
#include "busbar/formats/goal.h"
#include "busbar/formats/internal/import_reports.h"
#include "busbar/formats/internal/mscclpp_plan.h"
#include "busbar/formats/msccl_xml.h"

namespace busbar::formats {
namespace {

void describe(const collectives::ExecutionPlan& p, Json& found) {
  found["name"] = p.name;
  found["collective"] = collectives::name_of(p.op);
  found["ranks"] = p.ranks;
  found["chunks"] = p.chunks;
  found["channels"] = p.channels;
  found["threads"] = p.thread_rank.size();
  found["steps"] = p.steps.size();
}

/// Whether the schedule meets its collective's demand. If it does not, that is an answer, not a failure to read.
void describe(const Result<collectives::PlanProof>& proof, ImportReport& report) {
  Json& found = report.found;
  found["proved"] = proof.ok();
  if (proof.ok()) {
    found["sends"] = proof->sends;
    found["longest_chain_of_sends"] = proof->depth;
    return;
  }
  found["why_not"] = proof.error().text();
  report.refuted = proof.error().code != ErrorCode::kUnsupported;
}

}  // namespace

Result<ImportReport> report_msccl(ImportSource& source) {
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(MscclAlgorithm a, read_msccl_xml(text, source.name()));
  ImportReport report;
  Json& found = report.found;
  describe(a.plan, found);
  found["protocol"] = a.protocol;
  found["in_place"] = a.in_place;
  found["out_of_place"] = a.out_of_place;
  found["min_bytes"] = a.min_bytes;
  found["max_bytes"] = a.max_bytes > 0 ? Json(a.max_bytes) : Json();
  describe(prove(a), report);
  report.notes = std::move(a.notes);
  report.unknown = std::move(a.unknown);
  return report;
}

Result<ImportReport> report_goal(ImportSource& source) {
  BUSBAR_ASSIGN(LineSource lines, source.lines());
  BUSBAR_ASSIGN(GoalProgram p, read_goal(lines));
  std::uint64_t n[3] = {}, amount[3] = {};
  for (const GoalOp& o : p.ops) {
    ++n[static_cast<std::size_t>(o.kind)];
    amount[static_cast<std::size_t>(o.kind)] += o.amount;
  }
  ImportReport report;
  Json& found = report.found;
  found["ranks"] = p.ranks;
  found["sends"] = n[0];
  found["receives"] = n[1];
  found["bytes_sent"] = amount[0];
  found["pieces_of_work"] = n[2];
  found["work_ns"] = amount[2];
  found["dependencies"] = p.edges.size();
  const Result<program::MessageGraph> graph = messages_of(p);
  found["every_send_is_received"] = graph.ok();
  if (!graph.ok()) found["why_not"] = graph.error().text();
  report.refuted = !graph.ok();
  report.unknown = std::move(p.unknown);
  return report;
}

Result<ImportedMessages> messages_of_goal(ImportSource& source) {
  BUSBAR_ASSIGN(LineSource lines, source.lines());
  BUSBAR_ASSIGN(const GoalProgram p, read_goal(lines));
  BUSBAR_ASSIGN(program::MessageGraph graph, messages_of(p));
  return ImportedMessages{source.name(), std::move(graph), p.call, {}};
}

Result<ImportReport> report_mscclpp(ImportSource& source) {
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(MscclppPlan p, read_mscclpp_plan(text, source.name()));
  ImportReport report;
  Json& found = report.found;
  describe(p.plan, found);
  found["protocol"] = p.protocol;
  found["in_place"] = p.plan.in_place;
  found["parts_per_chunk"] = p.parts;
  found["min_bytes"] = p.min_bytes;
  found["max_bytes"] = p.max_bytes > 0 ? Json(p.max_bytes) : Json();
  describe(collectives::prove(p.plan), report);
  report.notes = std::move(p.notes);
  report.unknown = std::move(p.unknown);
  return report;
}

Result<ImportedSchedule> schedule_of_mscclpp(ImportSource& source) {
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(MscclppPlan p, read_mscclpp_plan(text, source.name()));
  BUSBAR_ASSIGN(const collectives::PlanProof proof, collectives::prove(p.plan));
  return ImportedSchedule{std::move(p.plan), p.protocol, p.min_bytes, p.max_bytes, 0, proof, std::move(p.notes)};
}

Result<ImportedSchedule> schedule_of_msccl(ImportSource& source) {
  BUSBAR_ASSIGN(const std::string_view text, source.whole());
  BUSBAR_ASSIGN(MscclAlgorithm a, read_msccl_xml(text, source.name()));
  BUSBAR_ASSIGN(const collectives::PlanProof proof, prove(a));
  return ImportedSchedule{std::move(a.plan), a.protocol, a.min_bytes, a.max_bytes, a.loops, proof, std::move(a.notes)};
}

}  // namespace busbar::formats
