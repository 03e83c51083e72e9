#include "busbar/plan/layout_flags.h"

#include <fmt/core.h>

#include <utility>

#include "busbar/base/shell_line.h"
#include "busbar/base/text.h"
#include "busbar/plan/space.h"

namespace busbar::plan {

std::string modules_text(const workload::RecomputeModules& modules) {
  std::string out;
  for (const auto& [name, module] : kRecomputeModules)
    if (modules.*module) append_word(out, name);
  return out;
}

std::string layout_flags(const workload::LayoutSpec& l) {
  ShellLine out("");
  const std::pair<const char*, std::uint32_t> degrees[] = {
      {"--tp", l.tp}, {"--pp", l.pp}, {"--vpp", l.vpp},           {"--dp", l.dp},
      {"--cp", l.cp}, {"--ep", l.ep}, {"--zero", l.sharding.zero}};
  for (const auto& [flag, value] : degrees) out.add(flag, value);
  out.add("--micro-batch", l.batch.micro);
  out.add("--recompute", workload::name_of(l.recomputation.kind));
  if (l.recomputation.kind == workload::Recompute::kSelective && !l.recomputation.modules.core_attn)
    out.add("--set", "layout.recompute_modules=[" + modules_text(l.recomputation.modules) + "]");
  out.add("--set", std::string("layout.schedule=") + workload::name_of(l.schedule), "layout.schedule=1f1b");
  const auto add_key = [&](const char* place, const char* key, bool changed, const std::string& value) {
    if (changed && !l.places.contains(place)) out.add("--set", fmt::format("layout.{}={}", key, value));
  };
  const workload::ExpertRun& e = l.experts;
  add_key("expert_exchange", "expert_exchange", e.exchange != workload::ExpertExchange::kAllToAll,
          workload::name_of(e.exchange));
  add_key("overlap_tp", "overlap.ep", e.overlap > 0, e.computed_overlap ? "auto" : fmt::format("{:g}", e.overlap));
  add_key("expert_kernels", "expert_kernels", e.kernels != workload::ExpertKernels::kOfExchange,
          workload::name_of(e.kernels));
  add_key("fused_experts", "fused_experts", e.fused, "true");
  add_key("balanced_layers", "balanced_layers", l.split.balanced, "true");
  add_key("embedding_as_layer", "embedding_as_layer", l.split.embedding_as_layer, "true");
  add_key("head_as_layer", "head_as_layer", l.split.head_as_layer, "true");
  if (l.rank_order != workload::kTpCpDpPp) out.add("--set", "layout.rank_order=" + workload::name_of(l.rank_order));
  if (l.offload.optimizer || l.offload.activations)
    out.add("--offload", !l.offload.activations ? "optimizer" : l.offload.optimizer ? "both" : "activations");
  return out.text().substr(1);
}

}  // namespace busbar::plan
