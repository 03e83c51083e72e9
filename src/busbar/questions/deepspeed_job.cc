// What keys of a DeepSpeed configuration mean together, and its defaults. Source: microsoft/DeepSpeed
// docs/_pages/config-json.md.
#include <fmt/core.h>

#include "busbar/questions/flag_words.h"
#include "busbar/questions/internal/job_keys.h"
#include "busbar/questions/internal/job_trained.h"

namespace busbar::questions {
namespace {

/// Tables that concern no step as it is modelled here, and single keys.
bool deepspeed_harmless(const std::string& name) {
  constexpr std::string_view kTables[] = {"optimizer.",
                                          "scheduler.",
                                          "tensorboard.",
                                          "wandb.",
                                          "csv-monitor.",
                                          "flops-profiler.",
                                          "comms-logger.",
                                          "aio.",
                                          "checkpoint.",
                                          "data-types.",
                                          "bf16.",
                                          "fp16.",
                                          "zero-optimization.offload-optimizer.",
                                          "zero-optimization.stage3-",
                                          "activation-checkpointing."};
  constexpr std::string_view kKeys[] = {"gradient-clipping",
                                        "steps-per-print",
                                        "wall-clock-breakdown",
                                        "dump-state",
                                        "prescale-gradients",
                                        "gradient-predivide-factor",
                                        "zero-allow-untested-optimizer",
                                        "zero-force-ds-cpu-optimizer",
                                        "zero-optimization.contiguous-gradients",
                                        "zero-optimization.sub-group-size",
                                        "zero-optimization.reduce-scatter",
                                        "zero-optimization.allgather-partitions",
                                        "zero-optimization.allgather-bucket-size",
                                        "zero-optimization.reduce-bucket-size",
                                        "zero-optimization.round-robin-gradients",
                                        "zero-optimization.ignore-unused-parameters"};
  return is_listed(name, kTables, kKeys);
}

bool is_on(const std::optional<JobFlag>& flag) { return flag && flag->values == std::vector<std::string>{"true"}; }

/// Any two of the whole batch, the piece of one GPU and the number of pieces; the third needs the replicas.
Status read_batch_sizes(JobKeys& k) {
  const std::optional<JobFlag> pieces = k.take("gradient-accumulation-steps");
  for (const auto& [key, ours] :
       {std::pair("layout.micro_batch", "--micro-batch"), std::pair("layout.global_batch", "--global-batch")})
    if (!k.has(key) && !k.given(key)) return k.missing(flag_of_program(kDeepSpeed, ours).substr(2), ours);
  if (!pieces || k.given("layout.micro_batch") || k.given("layout.global_batch")) return {};
  BUSBAR_ASSIGN(const std::int64_t n, k.count_of(*pieces));
  const std::int64_t replica = k.number("layout.micro_batch").value_or(1) * n;
  const std::int64_t batch = k.number("layout.global_batch").value_or(0);
  if (replica < 1 || batch % replica != 0)
    return invalid(fmt::format("{} pieces do not divide the batch of {}", n, batch), k.place(*pieces));
  k.set("layout.dp", std::to_string(batch / replica), k.place(*pieces));
  return {};
}

Status complete_deepspeed(JobKeys& k) {
  read_optimizer(k, "optimizer.type");
  if (!k.has_model()) return invalid("a configuration of DeepSpeed has no model; give --model", k.file());
  BUSBAR_RETURN_IF_ERROR(read_batch_sizes(k));
  const std::optional<JobFlag> bf16 = k.take("bf16.enabled"), fp16 = k.take("fp16.enabled");
  if (is_on(bf16) || is_on(fp16)) k.set("layout.precision", is_on(bf16) ? "bf16" : "fp16");
  if (!k.has("layout.precision") && !k.given("layout.precision")) return k.missing("bf16.enabled", "--precision");
  k.set_unless("layout.zero", "0");
  if (!k.given("layout.recompute"))
    k.note("the model decides what is recomputed; selective is taken unless --recompute is given");
  const std::optional<JobFlag> device = k.take("zero-optimization.offload-optimizer.device");
  if (device && device->values == std::vector<std::string>{"cpu"}) k.set("layout.offload.optimizer", "true");
  if (is_on(k.take("activation-checkpointing.cpu-checkpointing"))) k.set("layout.offload.activations", "true");
  return {};
}

}  // namespace

JobProgram deepspeed_job() { return {kDeepSpeed.data(), complete_deepspeed, deepspeed_harmless}; }

}  // namespace busbar::questions
