#include "busbar/questions/schedule_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "busbar/formats/chakra_writer.h"
#include "busbar/formats/goal.h"
#include "busbar/formats/msccl_xml.h"
#include "busbar/formats/mscclpp_writer.h"
#include "busbar/lowering/lowering.h"
#include "busbar/packet/collective_flows.h"
#include "busbar/questions/collective_result.h"
#include "busbar/questions/flow_csv.h"
#include "busbar/questions/tuner_csv.h"

namespace busbar::questions {
namespace {

/// The messages of the row's schedule, after the launch.
Result<program::MessageGraph> written_messages(const predict::Prediction& row, const collectives::Schedule& schedule,
                                               collectives::PlanLanes lanes, const predict::Predictor& machine) {
  BUSBAR_ASSIGN(const collectives::ExecutionPlan plan, collectives::plan_of(schedule, false, lanes));
  BUSBAR_ASSIGN(const program::MessageGraph graph,
                program::messages_of(plan, row.size(), row.chunks, program::LoopOrder::kStepByStep));
  return program::after_work(graph, machine.protocol().launch);
}

/// The smallest size that the row's schedule was chosen for.
std::uint64_t least_bytes(const predict::Prediction& row, const std::vector<predict::Prediction>& rows) {
  std::uint64_t least = count(row.size());
  for (const predict::Prediction& r : rows)
    if (r.algorithm == row.algorithm && r.protocol() == row.protocol() && r.channels == row.channels)
      least = std::min(least, count(r.size()));
  return least;
}

Result<std::string> msccl_text(const predict::Prediction& row, const std::vector<predict::Prediction>& rows,
                               const collectives::Schedule& schedule, collectives::PlanLanes lanes) {
  BUSBAR_ASSIGN(formats::MscclAlgorithm algorithm, formats::msccl_of(schedule, lanes));
  algorithm.max_bytes = count(row.size());
  algorithm.min_bytes = least_bytes(row, rows);
  // A thread block runs all its steps in one loop before the next loop. This changes pipelines of rounds, not of
  // trees.
  const bool trees = std::all_of(schedule.phases.begin(), schedule.phases.end(),
                                 [](const collectives::Phase& p) { return collectives::is_tree(p.pattern); });
  if (row.chunks == 1 || trees) algorithm.loops = row.chunks;
  if (row.call.protocol == program::Protocol::kLl) algorithm.protocol = "LL";
  if (row.call.protocol == program::Protocol::kLl128) algorithm.protocol = "LL128";
  return formats::write_msccl_xml(algorithm);
}

Result<std::string> mscclpp_text(const predict::Prediction& row, const std::vector<predict::Prediction>& rows,
                                 const collectives::Schedule& schedule, collectives::PlanLanes lanes,
                                 const predict::Predictor& machine) {
  BUSBAR_ASSIGN(const formats::MscclAlgorithm algorithm, formats::msccl_of(schedule, lanes));  // in place if that works
  formats::MscclppOutput options{least_bytes(row, rows), count(row.size()), {}};
  for (std::uint32_t r = 0; r < algorithm.plan.ranks; ++r)
    options.node.push_back(index(machine.cluster().topology.block_of(machine.placement().gpu(r))));
  BUSBAR_ASSIGN(const Json plan, formats::write_mscclpp_plan(algorithm.plan, options));
  return plan.dump(1) + "\n";
}

/// NAME.et becomes NAME.RANK.et.
Result<std::vector<OutputFile>> chakra_files(const std::string& file, const program::MessageGraph& graph) {
  BUSBAR_ASSIGN(std::vector<std::string> ranks, formats::write_chakra(graph));
  const std::string name = file.substr(0, file.size() - std::string_view("et").size());
  std::vector<OutputFile> out;
  for (std::size_t r = 0; r < ranks.size(); ++r) out.push_back({fmt::format("{}{}.et", name, r), std::move(ranks[r])});
  return out;
}

/// What the column of bytes counts.
std::string words_of_bytes(const predict::Prediction& row) {
  const bool plain = row.protocol() == program::Protocol::kSimple;
  return fmt::format("{} of {} B on {} ranks, {}, protocol {}: bytes are {}", collectives::name_of(row.call.op),
                     count(row.size()), row.call.groups.size(), row.algorithm, program::name_of(row.protocol()),
                     plain ? "data, to which the protocol adds none"
                           : "on the wire, data and what the protocol adds; --protocol simple adds none");
}

std::vector<OutputFile> one_file(const std::string& file, std::string text) { return {{file, std::move(text)}}; }

}  // namespace

Result<std::vector<OutputFile>> schedule_files(const std::string& file, const predict::Predictor& machine,
                                               const std::vector<predict::Prediction>& rows) {
  const predict::Prediction& row = summary_row(rows);
  if (file.ends_with(".csv")) {
    program::FlowList list;
    BUSBAR_RETURN_IF_ERROR(
        packet::add_collective_flows(row.call, machine.router(), machine.placement(), machine.protocol(), list));
    return one_file(file, write_flow_csv(list, machine.router(), words_of_bytes(row)));
  }
  if (file.ends_with(".conf")) {
    BUSBAR_ASSIGN(std::string picks, tuner_csv(machine, rows));
    return one_file(file, std::move(picks));
  }
  const bool goal = file.ends_with(".goal"), chakra = file.ends_with(".et"), plan = file.ends_with(".json");
  if (!goal && !chakra && !plan && !file.ends_with(".xml"))
    return invalid(fmt::format("'{}' should end in .xml (MSCCL), .json (MSCCL++), .goal, .et (Chakra), .csv (flows) or "
                               ".conf (NCCL's tuner)",
                               file),
                   field_of("out"));
  if (!row.call.parts.empty())
    return unsupported("the groups of this call run different schedules; ask for one of them with --ranks");
  BUSBAR_ASSIGN(const collectives::Schedule schedule,
                packet::schedule_of(row.call, machine.cluster().topology, machine.placement()));
  if (schedule.sends_nothing)
    return unsupported(
        "this broadcast is an all-reduce of what the root has, which no file of schedules can state; give "
        "another --algorithm",
        field_of("out"));
  const collectives::PlanLanes lanes =
      lowering::Lowering(machine.router(), machine.placement(), machine.protocol()).lanes(row.call, schedule);
  if (goal || chakra) {
    BUSBAR_ASSIGN(const program::MessageGraph graph, written_messages(row, schedule, lanes, machine));
    if (chakra) return chakra_files(file, graph);
    BUSBAR_ASSIGN(std::string text, formats::write_goal(graph, &row.call));
    return one_file(file, std::move(text));
  }
  BUSBAR_ASSIGN(std::string text,
                plan ? mscclpp_text(row, rows, schedule, lanes, machine) : msccl_text(row, rows, schedule, lanes));
  return one_file(file, std::move(text));
}

}  // namespace busbar::questions
