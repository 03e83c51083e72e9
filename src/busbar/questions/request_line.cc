#include "busbar/questions/request_line.h"

#include "busbar/base/shell_line.h"
#include "busbar/plan/layout_flags.h"
#include "busbar/predict/rank_groups.h"

namespace busbar::questions {
namespace {

void add_machine(ShellLine& line, const std::string& engine, const predict::PredictOptions& predict,
                 const spec::Overrides& overrides) {
  line.add("--engine", engine, "flow");
  line.add("--nccl", predict.nccl);
  line.add("--launch", predict.launch);
  line.add("--register", predict.registration);
  line.add("--shortcuts-off", predict.shortcuts_off);
  line.add_all("--env", predict.env);
  if (overrides.nodes > 0) line.add("--nodes", overrides.nodes);
  line.add_all("--set", overrides.set);
  line.add_all("--degrade", overrides.degrade);
  line.add_all("--fail", overrides.fail);
  line.add("--gpu", overrides.gpu);
  line.add("--gpu-memory-rate", overrides.gpu_memory_rate);
  line.add("--catalog", overrides.catalog);
}

void add_trained(ShellLine& line, const spec::TrainedFlags& t) {
  if (t.lora_rank) line.add("--lora-rank", std::to_string(*t.lora_rank));
  line.add("--lora-targets", t.lora_targets.value_or(""));
  line.add("--lora-base", t.lora_base.value_or(""));
  line.add("--optimizer", t.optimizer.value_or(""));
  line.add("--moments", t.moments.value_or(""));
  line.add("--documents", t.documents.value_or(""));
}

}  // namespace

std::string request_line(const predict::CollectiveRequest& r) {
  const std::string size = std::to_string(count(r.call.bytes));
  ShellLine out("busbar collective " + shell_word(r.cluster) + " " + collectives::name_of(r.call.op) + " -b " + size +
                " -e " + size);
  out.add_all("--ranks", predict::rank_groups_text(r.call.groups));
  out.add("--root", std::to_string(r.call.root), "0");
  out.add("--algorithm", r.call.algorithm, "auto");
  out.add("--protocol", program::name_of(r.call.protocol), "auto");
  add_machine(out, r.engine, r.predict, r.overrides);
  return out.text();
}

std::string request_line(const accuracy::StepQuestion& q) {
  const spec::LayoutFlags& d = q.scenario.degrees;
  ShellLine out("busbar train --cluster " + shell_word(q.scenario.cluster) + " --model " +
                shell_word(q.scenario.model));
  out.add("--framework", q.scenario.framework);
  const std::pair<const char*, const std::optional<std::int64_t>&> numbers[] = {{"--tp", d.tp},
                                                                                {"--pp", d.pp},
                                                                                {"--vpp", d.vpp},
                                                                                {"--dp", d.dp},
                                                                                {"--cp", d.cp},
                                                                                {"--ep", d.ep},
                                                                                {"--seq", d.seq},
                                                                                {"--zero", d.zero},
                                                                                {"--micro-batch", d.micro_batch},
                                                                                {"--global-batch", d.global_batch}};
  for (const auto& [flag, value] : numbers)
    if (value) out.add(flag, std::to_string(*value));
  out.add("--precision", d.precision.value_or(""));
  out.add("--recompute", d.recompute.value_or(""));
  add_trained(out, d.trained);
  add_machine(out, q.engine, q.predict, q.overrides);
  return out.text();
}

std::string request_line(const StepRequest& r, const workload::LayoutSpec& l) {
  ShellLine out("busbar train --cluster " + shell_word(r.cluster) + " --model " + shell_word(r.model));
  out.add("--layout", r.layout);
  out.add_words(plan::layout_flags(l));
  add_trained(out, r.trained);
  out.add("--seq", l.batch.seq);
  out.add("--global-batch", l.batch.global);
  out.add("--precision", workload::name_of(l.precision));
  if (r.gpus > 0) out.add("--gpus", r.gpus);
  if (r.gpus_per_domain > 0) out.add("--gpus-per-domain", r.gpus_per_domain);
  add_machine(out, r.engine, r.predict, r.overrides);
  return out.text();
}

}  // namespace busbar::questions
