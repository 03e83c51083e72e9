// What torchtitan's settings mean together, and its defaults. Source: pytorch/torchtitan
// torchtitan/config/job_config.py.
#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/text.h"
#include "busbar/questions/flag_words.h"
#include "busbar/questions/internal/job_keys.h"
#include "busbar/questions/internal/job_trained.h"
#include "busbar/questions/step_request.h"

namespace busbar::questions {
namespace {

/// Tables that concern no step, and single keys of the others.
bool torchtitan_harmless(const std::string& name) {
  constexpr std::string_view kTables[] = {
      "job.",   "profiling.",  "metrics.", "optimizer.", "lr-scheduler.", "checkpoint.",     "comm.",
      "debug.", "validation.", "model.",   "float8.",    "compile.",      "fault-tolerance."};
  constexpr std::string_view kKeys[] = {"training.dataset",
                                        "training.dataset-path",
                                        "training.max-norm",
                                        "training.steps",
                                        "training.compile",
                                        "training.gc-freq",
                                        "training.gc-debug",
                                        "training.seed",
                                        "training.deterministic",
                                        "training.dtype",
                                        "training.dump-folder",
                                        "training.mixed-precision-param",
                                        "training.mixed-precision-reduce",
                                        "parallelism.disable-loss-parallel",
                                        "parallelism.enable-compiled-autograd"};
  return is_listed(name, kTables, kKeys);
}

/// The number of `name`; `otherwise` where it is not there. -1 may stand for "the rest".
Result<std::int64_t> number_of_job(JobKeys& k, const char* name, std::int64_t otherwise) {
  const std::optional<JobFlag> flag = k.take(name);
  if (!flag) return otherwise;
  std::int64_t n = 0;
  if (flag->values.size() != 1 || !is_number(flag->values[0], n) || n == 0 || n < -1 || n >= 1 << 24)
    return invalid("is no number above 0", k.place(*flag));
  return n;
}

/// Replicas, shards and what is sharded. Returns the replicas; 0: the rest of the machine.
Result<std::int64_t> read_replicas(JobKeys& k) {
  BUSBAR_ASSIGN(const std::int64_t shards, number_of_job(k, "parallelism.data-parallel-shard-degree", -1));
  BUSBAR_ASSIGN(const std::int64_t copies, number_of_job(k, "parallelism.data-parallel-replicate-degree", 1));
  const std::int64_t cp = k.number("layout.cp").value_or(1);
  if (shards < 0 && copies > 1)
    return invalid("-1 shards with several replicas are not read; write their number",
                   {k.file().file, 0, 0, "data_parallel_shard_degree"});
  const bool none = shards == 1 && (cp == 1 || copies > 1);
  if (none) k.set("layout.zero", "0");
  k.set_unless("layout.zero", k.number("layout.pp").value_or(1) > 1 ? "2" : "3");
  if (copies > 1 && shards > 1) k.set("layout.shard_group", std::to_string(shards * cp));
  if (shards < 0) return 0;
  k.set("layout.dp", std::to_string(copies * shards));
  return copies * shards;
}

/// With stages, the local batch is divided into micro-batches.
Status read_batches(JobKeys& k, std::int64_t replicas) {
  const bool stages = k.number("layout.pp").value_or(1) > 1;
  BUSBAR_ASSIGN(const std::int64_t piece, number_of_job(k, "parallelism.pipeline-parallel-microbatch-size", 1));
  const std::int64_t local = k.number("layout.micro_batch").value_or(8);
  k.set("layout.micro_batch", std::to_string(stages ? piece : local));
  k.set_unless("layout.seq", "2048");
  if (k.has("layout.global_batch") || k.given("layout.global_batch")) return {};
  const std::int64_t all = replicas > 0 ? replicas : k.replicas();
  if (all == 0) return k.missing("training.global_batch_size", "--global-batch or a machine with a size");
  k.set("layout.global_batch", std::to_string(local * all));
  if (replicas == 0)
    k.note(fmt::format("a global batch of {}: {} sequences on each of {} replicas", local * all, local, all));
  return {};
}

void read_schedule(JobKeys& k) {
  const std::string schedule = k.word("layout.schedule");
  if (schedule == "zb-v" || schedule == "dualpipe-v") k.set("layout.vpp", "2");
  if (k.has("layout.layers_per_chunk")) k.remove("layout.vpp");
}

/// `selective` recomputes every second product, or every N-th layer.
Status read_checkpointing(JobKeys& k) {
  const std::optional<JobFlag> option = k.take("activation-checkpoint.selective-ac-option");
  k.set_unless("layout.recompute", "selective");
  if (k.word("layout.recompute") != "selective" || k.given("layout.recompute")) return {};
  std::int64_t every = 2;
  if (option && option->values != std::vector<std::string>{"op"}) {
    BUSBAR_ASSIGN(every, k.count_of(*option));
  }
  k.set("layout.recompute", "full");
  k.set("layout.recompute_every", std::to_string(every));
  return {};
}

void read_converters(JobKeys& k) {
  const std::optional<JobFlag> converters = k.take("model.converters");
  const bool fp8 = converters && !converters->values.empty() &&
                   (converters->values[0].find("float8") != std::string::npos || converters->values[0] == "mx");
  k.set("layout.precision", fp8 ? "fp8" : "bf16");
}

/// Name and flavor as a model of the catalogue.
Status read_flavor(JobKeys& k) {
  const std::optional<JobFlag> name = k.take("model.name"), flavor = k.take("model.flavor");
  if (k.has_model()) return {};
  if (!name || !flavor || name->values.empty() || flavor->values.empty())
    return k.missing("model.name and --model.flavor", "--model");
  std::string model = lower(name->values[0] + "-" + flavor->values[0]);
  std::replace(model.begin(), model.end(), '_', '-');
  constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {{"llama3-405b", "llama3.1-405b"},
                                                                           {"deepseek-v3-671b", "deepseek-v3"},
                                                                           {"llama4-17bx16e", "llama4-scout"},
                                                                           {"llama4-17bx128e", "llama4-maverick"}};
  for (const auto& [theirs, ours] : kOtherNames)
    if (model == theirs) model = ours;
  if (!is_catalog_model(model))
    return invalid(
        fmt::format("'{}' of {} is no model of the catalogue; give --model", flavor->values[0], name->values[0]),
        k.place(*flavor));
  k.set_model(model);
  return {};
}

Status complete_torchtitan(JobKeys& k) {
  read_optimizer(k, "optimizer.name");
  BUSBAR_RETURN_IF_ERROR(read_flavor(k));
  BUSBAR_ASSIGN(const std::int64_t replicas, read_replicas(k));
  BUSBAR_RETURN_IF_ERROR(read_batches(k, replicas));
  read_schedule(k);
  BUSBAR_RETURN_IF_ERROR(read_checkpointing(k));
  read_converters(k);
  k.set_unless("layout.context", "all_gather");
  return {};
}

}  // namespace

JobProgram torchtitan_job() { return {kTorchtitan.data(), complete_torchtitan, torchtitan_harmless}; }

}  // namespace busbar::questions
