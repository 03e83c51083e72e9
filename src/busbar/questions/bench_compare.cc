#include "busbar/questions/bench_compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/engine/flow/message_run.h"

namespace busbar::questions {

std::string step_words(const collectives::ExecutionPlan& plan, std::uint32_t step) {
  const std::uint32_t own = plan.rank_of(plan.steps[step]);
  const auto reads = plan.reads.row(step), writes = plan.writes.row(step);
  std::string out = reads.empty() ? "wait" : reads.size() > 1 ? "add" : "copy";
  const auto others = [&](const char* word, auto slices) {
    for (const collectives::PlanSlice& s : slices)
      if (s.rank != own) out += fmt::format(" {} {}", word, s.rank);
  };
  others("from", reads);
  others("to", writes);
  return out;
}

Result<std::vector<BenchStep>> compared_steps(const runtime::Executable& x, Bytes size, predict::Predictor& machine,
                                              const std::vector<runtime::StepTime>& times, std::size_t most) {
  BUSBAR_ASSIGN(const program::MessageGraph graph, program::messages_of(x.plan, size, 1));
  BUSBAR_ASSIGN(
      const engine::MessageRun run,
      engine::run_messages(machine.router(), machine.placement(), machine.protocol(), program::Protocol::kSimple, graph,
                           machine.policy().shortcuts, machine.policy().stop));
  std::vector<double> simulated_us(times.size(), -1);
  for (std::size_t t = 0; t < graph.tasks.size(); ++t)
    if (const std::uint32_t s = graph.tasks[t].step; s < simulated_us.size())
      simulated_us[s] = std::max(simulated_us[s], run.tasks[t].done.since_start().in_us());
  std::int64_t first = times.empty() ? 0 : times[0].begin_ns;
  for (const runtime::StepTime& t : times) first = std::min(first, t.begin_ns);
  std::vector<BenchStep> out;
  for (std::uint32_t s = 0; s < times.size(); ++s) {
    if (simulated_us[s] < 0) continue;
    const double measured_us = static_cast<double>(times[s].end_ns - first) * 1e-3;
    out.push_back({s, x.plan.rank_of(x.plan.steps[s]), step_words(x.plan, s), measured_us, simulated_us[s]});
  }
  const auto differs_more = [](const BenchStep& a, const BenchStep& b) {
    return std::abs(a.measured_us - a.simulated_us) > std::abs(b.measured_us - b.simulated_us);
  };
  std::stable_sort(out.begin(), out.end(), differs_more);
  out.resize(std::min(out.size(), most));
  return out;
}

}  // namespace busbar::questions
