#include "busbar/views/layout_words.h"

#include <fmt/core.h>

#include <utility>

#include "busbar/plan/layout_flags.h"

namespace busbar::views {

std::string short_layout(const workload::LayoutSpec& l) {
  std::string s = fmt::format("TP {} PP {}", l.tp, l.pp);
  if (l.vpp > 1) s += fmt::format(" VPP {}", l.vpp);
  s += fmt::format(" DP {}", l.dp);
  if (l.cp > 1) s += fmt::format(" CP {}", l.cp);
  if (l.ep > 1) s += fmt::format(" EP {}", l.ep);
  s += fmt::format(" ZeRO-{}", l.sharding.zero);
  if (l.schedule != workload::PipelineSchedule::k1F1B) s += fmt::format(" {}", workload::name_of(l.schedule));
  if (l.rank_order != workload::kTpCpDpPp) s += " " + workload::name_of(l.rank_order);
  return s;
}

std::string domain_words(const step::TrainRun& machine) {
  const std::uint32_t used = machine.settings.gpus_per_domain, idle = machine.spares_per_domain();
  return used == 0 ? "" : fmt::format("{} of {} GPUs per domain, {} idle (spares)", used, used + idle, idle);
}

std::string recompute_words(const workload::LayoutSpec& l) {
  const bool named = l.recomputation.kind == workload::Recompute::kSelective && !l.recomputation.modules.core_attn;
  return named ? plan::modules_text(l.recomputation.modules) : workload::name_of(l.recomputation.kind);
}

report::Table table_of_layouts(std::string title, std::string last) {
  return {std::move(title),
          {"#", report::to_left("layout"), "batch", report::to_left("recompute"), "step", "MFU (%)", "memory", "$/step",
           report::to_left(std::move(last))}};
}

}  // namespace busbar::views
