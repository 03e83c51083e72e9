#include "busbar/questions/job_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace busbar::questions {
namespace {

constexpr const char* kJobModel =
    " --num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 --micro-batch-size 2"
    " --global-batch-size 64 --bf16 --vocab-size 1000";

Result<JobFile> read_job_text(const std::string& text, const std::vector<std::string>& given = {}) {
  // A folder of this process, since tests run side by side; the model is named after the file.
  const std::filesystem::path folder = testing::TempDir() + "busbar_job_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "job.sh") << text;
  auto job = read_job_file(folder / "job.sh",
                           [&](const std::string& key) { return std::count(given.begin(), given.end(), key) > 0; });
  std::filesystem::remove_all(folder);
  return job;
}

std::string refusal_of(const std::string& text, const std::vector<std::string>& given = {}) {
  const Result<JobFile> job = read_job_text(text, given);
  if (job.ok()) return "";
  const std::string all = job.error().text();
  return all.substr(all.find("job.sh") + 6);
}

bool sets(const JobFile& job, const std::string& setting) {
  return std::count(job.set.begin(), job.set.end(), setting) == 1;
}

TEST(JobFile, FlagsThatAreNotGivenHaveMegatronsDefaults) {
  const JobFile job = read_job_text(std::string("torchrun --nproc_per_node 8 pretrain_gpt.py") + kJobModel).value();
  EXPECT_EQ(job.program, "Megatron-LM");
  EXPECT_EQ(job.gpus, 8u);
  EXPECT_EQ(job.model,
            "{ffn: 2048, head_dim: 64, heads: 8, hidden: 512, kv_heads: 8, layers: 4, mlp: plain, name: job, "
            "tied_embeddings: true, vocab: 1024}");
  for (const char* set : {"layout.zero=0", "layout.recompute=none", "layout.sequence_parallel=false",
                          "layout.overlap.grad_reduce=false", "layout.precision=bf16"})
    EXPECT_TRUE(sets(job, set)) << set;
}

TEST(JobFile, FlagsMeanTogetherWhatMegatronMakesOfThem) {
  const std::string start = std::string("run pretrain_gpt.py") + kJobModel;
  const JobFile moe = read_job_text(start +
                                    " --swiglu --num-experts 8 --moe-router-topk=2 --moe-layer-freq '([0]*1+[1]*3)'"
                                    " --moe-ffn-hidden-size 256 --moe-shared-expert-intermediate-size 512"
                                    " --expert-model-parallel-size 4 --tensor-model-parallel-size 2")
                          .value();
  EXPECT_NE(moe.model.find("moe: {dense_layers: 1, experts: 8, ffn: 256, per_token: 2, shared: 2}"), std::string::npos);
  EXPECT_NE(moe.model.find("ffn: 1344, "), std::string::npos) << "8/3 of 512, in pieces of 64";
  EXPECT_TRUE(sets(moe, "layout.expert_tp=2")) << "as wide as TP unless it is given";
  const JobFile latent =
      read_job_text(start +
                    " --multi-latent-attention --kv-lora-rank 64 --qk-head-dim 32 --qk-pos-emb-head-dim 16"
                    " --fp8-format hybrid --recompute-granularity full --recompute-method block"
                    " --recompute-num-layers 3")
          .value();
  EXPECT_NE(latent.model.find("head_dim: 48"), std::string::npos);
  EXPECT_NE(latent.model.find("latent_attention: {kv_rank: 64, nope_dim: 32, rope_dim: 16, v_dim: 128}"),
            std::string::npos);
  EXPECT_TRUE(sets(latent, "layout.precision=fp8"));
  EXPECT_TRUE(sets(latent, "layout.recompute_layers=3"));
  const JobFile modules =
      read_job_text(start + " --recompute-granularity selective --recompute-modules moe_act layernorm --fp16").value();
  EXPECT_TRUE(sets(modules, "layout.recompute_modules=[act, layernorm]"));
}

TEST(JobFile, AStepWithoutABatchHasOneMicroBatchPerReplica) {
  const std::string flags = " --seq-length 1024 --micro-batch-size 2 --bf16 --tensor-model-parallel-size 4";
  EXPECT_TRUE(sets(read_job_text("torchrun --nnodes 2 --nproc-per-node=8 p.py" + flags, {"model"}).value(),
                   "layout.global_batch=8"));
  EXPECT_EQ(refusal_of(flags, {"model"}),
            ": --global-batch-size is missing; add it to the file, or give --global-batch");
}

TEST(JobFile, WhatTheUserGivesNeedNotBeInTheFile) {
  const JobFile job = read_job_text("--bf16 --tensor-model-parallel-size $TP --seq-length 1024",
                                    {"model", "layout.tp", "layout.micro_batch", "layout.global_batch"})
                          .value();
  EXPECT_EQ(job.model, "");
  EXPECT_TRUE(std::none_of(job.set.begin(), job.set.end(), [](const auto& s) { return s.starts_with("layout.tp="); }));
}

TEST(JobFile, FlagsWithoutEffectAreListedAndOthersThatMayMatterRefused) {
  const std::string start = std::string("run p.py") + kJobModel;
  const JobFile job = read_job_text(start + " --lr 1e-4 --my-name x --bf16 $@").value();
  EXPECT_EQ(job.harmless, std::vector<std::string>{"--lr"});
  EXPECT_EQ(job.unknown, std::vector<std::string>{"--my-name"});
  ASSERT_EQ(job.notes.size(), 1u);
  EXPECT_EQ(job.notes[0], "'$@' after --bf16 in line 1 is not read");
  EXPECT_EQ(refusal_of(start + " \\\n --moe-magic 3"),
            ":2: --moe-magic: is not known and may change the answer; delete it from the file if it does not");
}

TEST(JobFile, TorchtitansDefaultsHoldWhereItsFileSaysNothing) {
  const std::string head = "[parallelism]\ntensor_parallel_degree = 1\ndata_parallel_shard_degree = 8\n";
  const JobFile plain = read_job_text(head, {"model"}).value();
  for (const char* set : {"layout.zero=3", "layout.dp=8", "layout.micro_batch=8", "layout.global_batch=64",
                          "layout.seq=2048", "layout.recompute_every=2", "layout.context=all_gather"})
    EXPECT_TRUE(sets(plain, set)) << set;
  const JobFile stages = read_job_text(head +
                                           "pipeline_parallel_degree = 2\npipeline_parallel_schedule = "
                                           "\"Interleaved1F1B\"\ndata_parallel_replicate_degree = 2\n"
                                           "[training]\nlocal_batch_size = 16\nglobal_batch_size = -1\n"
                                           "[activation_checkpoint]\nmode = 'none'\n",
                                       {"model"})
                             .value();
  for (const char* set : {"layout.zero=2", "layout.dp=16", "layout.micro_batch=1", "layout.global_batch=256",
                          "layout.vpp=2", "layout.recompute=none", "layout.shard_group=8"})
    EXPECT_TRUE(sets(stages, set)) << set;
  EXPECT_NE(refusal_of(head + "[model]\nname = \"llama3\"\nflavor = \"9B\"\n").find(":6: --model.flavor: '9B'"),
            std::string::npos);
  EXPECT_NE(refusal_of(head + "tensor_parallel_magic = 2\n", {"model"}).find(":4: --parallelism.tensor-parallel-magic"),
            std::string::npos);
  EXPECT_EQ(refusal_of("[parallelism]\ntensor_parallel_degree = [\n2", {"model"}).substr(0, 3), ":3:");
}

TEST(JobFile, RefusalsNameTheLineAndTheFlag) {
  const std::string start = std::string("run p.py") + kJobModel;
  const std::pair<std::string, const char*> cases[] = {
      {"", ": no flags of Megatron-LM"},
      {start + " --context-parallel-size", ":1: --context-parallel-size: a value is missing"},
      {start + " --context-parallel-size 2 4", ":1: --context-parallel-size: takes one value"},
      {start + " --context-parallel-size two", ":1: --context-parallel-size: 'two' is not a number"},
      {start + " --context-parallel-size nan", ":1: --context-parallel-size: 'nan' is not a number"},
      {start + " --cp-comm-type ring", "'ring' is not one of p2p, all_gather, a2a"},
      {"CP=$1\n" + start + " --context-parallel-size $CP", ":2: --context-parallel-size: '$1' is not known"},
      {"if [ -f x ]; then\nA=(--context-parallel-size 2)\nfi\n" + start + " ${A[@]}",
       ":2: --context-parallel-size: line 1 decides whether it counts"},
      {"if [ -f x ]; then\nA=(--bf16)\nelse\nA=(--fp16)\nfi\n" + start + " ${A[@]}", "line 3 decides what '$A' is"},
      {start + " --moe-layer-freq [1]*2+[0]*2 --num-experts 4", "--moe-layer-freq: '[1]*2+[0]*2' is not read"},
      {"run pretrain_bert.py" + std::string(kJobModel), ": the model of pretrain_bert.py is not read from flags"},
      {"--bf16 --seq-length 1\nsome words\n", ":2: 'some' is no flag"},
      {"--seq-length 1 --micro-batch-size 1", ": --bf16 is missing"},
      {"--bf16 --micro-batch-size 1", ": --seq-length is missing"},
      {std::string("\0--bf16", 7), ": "}};
  for (const auto& [text, words] : cases)
    EXPECT_NE(refusal_of(text).find(words), std::string::npos) << refusal_of(text);
}

// The same job in both programs' words.
constexpr const char* kNemoJob =
    "trainer:\n  devices: 8\n  num_nodes: 4\n  precision: bf16\n  max_steps: 10\n"
    "model:\n  mcore_gpt: true\n  micro_batch_size: 1\n  global_batch_size: 128\n  tensor_model_parallel_size: 4\n"
    "  pipeline_model_parallel_size: 4\n  virtual_pipeline_model_parallel_size: 5\n  encoder_seq_length: 4096\n"
    "  max_position_embeddings: ${.encoder_seq_length}\n  num_layers: 80\n  hidden_size: 8192\n"
    "  ffn_hidden_size: 28672\n  num_attention_heads: 64\n  num_query_groups: 8\n  kv_channels: null\n"
    "  activation: fast-swiglu\n  share_embeddings_and_output_weights: false\n  override_vocab_size: 32000\n"
    "  make_vocab_size_divisible_by: 128\n  activations_checkpoint_granularity: null\n"
    "  activations_checkpoint_method: block\n  activations_checkpoint_num_layers: 0\n  sequence_parallel: true\n"
    "  fp8: false\n  ub_tp_comm_overlap: true\n  overlap_p2p_comm: true\n"
    "  optim:\n    name: distributed_fused_adam\n    overlap_grad_sync: true\n    overlap_param_sync: true\n";
constexpr const char* kNemoJobOfMegatron =
    "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --bf16 --micro-batch-size 1 --global-batch-size 128 "
    "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 5 "
    "--seq-length 4096 --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64 "
    "--group-query-attention --num-query-groups 8 --swiglu --untie-embeddings-and-output-weights --vocab-size 32000 "
    "--make-vocab-size-divisible-by 128 --sequence-parallel --tp-comm-overlap --use-distributed-optimizer "
    "--overlap-grad-reduce --overlap-param-gather";

TEST(JobFile, AConfigurationOfNemoIsTheJobThatMegatronsFlagsSay) {
  const JobFile nemo = read_job_text(kNemoJob).value(), megatron = read_job_text(kNemoJobOfMegatron).value();
  EXPECT_EQ(nemo.set, megatron.set);
  EXPECT_EQ(nemo.model, megatron.model);
  EXPECT_EQ(nemo.gpus, 32u);
  EXPECT_TRUE(nemo.program.starts_with("NeMo"));
  EXPECT_TRUE(nemo.unknown.empty());
}

TEST(JobFile, NemosReferencesWithinTheModelAreFollowed) {
  std::string job = kNemoJob;
  const std::string ffn = "ffn_hidden_size: 28672";
  job.replace(job.find(ffn), ffn.size(), "ffn_hidden_size: ${multiply:4, ${.hidden_size}}");
  EXPECT_NE(read_job_text(job).value().model.find("ffn: 32768"), std::string::npos);
}

TEST(JobFile, NemosKeysThatMayMatterOrReferElsewhereAreRefusedWithTheirLine) {
  const std::string job = kNemoJob;
  EXPECT_EQ(refusal_of(job + "model_x: 1\n"), "");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string out = job;
    return refusal_of(out.replace(out.find(from), from.size(), to));
  };
  EXPECT_EQ(changed("mcore_gpt: true", "megatron_moe_new_layer: 2"),
            ":7: --model.megatron-moe-new-layer: is not known and may change the answer; delete it from the file if it "
            "does not");
  EXPECT_NE(
      changed("global_batch_size: 128", "global_batch_size: ${batch}").find(":9: --global-batch-size: '${batch}'"),
      std::string::npos);
  EXPECT_NE(changed("precision: bf16", "precision: 64").find(":4: trainer.precision: '64' is not one of bf16"),
            std::string::npos);
}

}  // namespace
}  // namespace busbar::questions
