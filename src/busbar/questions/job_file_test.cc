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

// -- Megatron-Bridge

constexpr const char* kBridgeJob =
    "_target_: megatron.bridge.training.config.ConfigContainer\n"
    "comm_overlap:\n  overlap_grad_reduce: null\n  overlap_param_gather: false\n  tp_comm_overlap: true\n"
    "dataset:\n  sequence_length: 1024\n"
    "ddp:\n  grad_reduce_in_fp32: true\n  use_distributed_optimizer: true\n"
    "mixed_precision:\n  bf16: true\n  fp8: hybrid\n  grad_reduce_in_fp32: false\n"
    "model:\n  activation_func:\n    _target_: torch.nn.functional.silu\n  attention_backend: null\n"
    "  gated_linear_unit: true\n  num_layers: 4\n  hidden_size: 512\n  ffn_hidden_size: 1024\n"
    "  num_attention_heads: 8\n  num_query_groups: 2\n  vocab_size: 1000\n  should_pad_vocab: false\n"
    "  num_moe_experts: 8\n  moe_router_topk: 2\n  moe_ffn_hidden_size: 256\n  moe_layer_freq: [0, 1, 1, 1]\n"
    "  moe_token_dispatcher_type: flex\n  moe_shared_expert_overlap: true\n  expert_model_parallel_size: 4\n  "
    "expert_tensor_parallel_size: 1\n"
    "  tensor_model_parallel_size: 2\n  sequence_parallel: true\n  share_embeddings_and_output_weights: false\n"
    "  recompute_granularity: selective\n  recompute_modules:\n  - layernorm\n  - moe_act\n"
    "train:\n  micro_batch_size: 2\n  global_batch_size: 64\n";
constexpr const char* kBridgeJobOfMegatron =
    "run pretrain_gpt.py --bf16 --fp8-format hybrid --grad-reduce-in-bf16 --seq-length 1024 --micro-batch-size 2"
    " --global-batch-size 64 --swiglu --num-layers 4 --hidden-size 512 --ffn-hidden-size 1024 --num-attention-heads 8"
    " --group-query-attention --num-query-groups 2 --vocab-size 1000 --make-vocab-size-divisible-by 1 --num-experts 8"
    " --moe-router-topk 2 --moe-ffn-hidden-size 256 --moe-layer-freq [0]*1+[1]*3 --moe-token-dispatcher-type flex"
    " --moe-shared-expert-overlap"
    " --expert-model-parallel-size 4 --expert-tensor-parallel-size 1 --tensor-model-parallel-size 2"
    " --sequence-parallel --untie-embeddings-and-output-weights --recompute-granularity selective"
    " --recompute-modules layernorm moe_act --use-distributed-optimizer --overlap-grad-reduce --tp-comm-overlap";

TEST(JobFile, AConfigurationOfMegatronBridgeIsThatOfTheFlagsItBecomes) {
  const JobFile bridge = read_job_text(kBridgeJob).value(), megatron = read_job_text(kBridgeJobOfMegatron).value();
  EXPECT_EQ(bridge.set, megatron.set);
  EXPECT_EQ(bridge.model, megatron.model);
  EXPECT_TRUE(sets(megatron, "layout.overlap.shared_experts=true"));
  EXPECT_TRUE(bridge.program.starts_with("Megatron-Bridge"));
  EXPECT_TRUE(bridge.unknown.empty());
}

TEST(JobFile, OverridesOfARecipeOfMegatronBridgeStandInACommand) {
  const JobFile job =
      read_job_text(
          "torchrun --nproc_per_node=8 pretrain.py --recipe llama3_8b model.tensor_model_parallel_size=2"
          " model.pipeline_model_parallel_size=2 train.micro_batch_size=1 train.global_batch_size=32"
          " dataset.sequence_length=4096 mixed_precision=bf16_with_nvfp4_mixed"
          " model.recompute_modules=[mla_up_proj,mlp] model.recompute_granularity=selective",
          {"model"})
          .value();
  EXPECT_EQ(job.gpus, 8u);
  for (const char* set : {"layout.tp=2", "layout.pp=2", "layout.precision=fp4",
                          "layout.recompute_modules=[mla_up_proj, mlp]", "layout.seq=4096"})
    EXPECT_TRUE(sets(job, set)) << set;
  EXPECT_FALSE(sets(job, "layout.gradient_bytes=2"));
  const JobFile other = read_job_text(
                            "python train.py --model.name=llama3 --model.flavor=8B --training.seq_len=8192"
                            " --training.global_batch_size=64 --parallelism.data_parallel_shard_degree=8")
                            .value();
  EXPECT_EQ(other.program, "torchtitan") << "its keys have hyphens before them";
}

TEST(JobFile, KeysOfMegatronBridgeThatMayMatterAreRefusedAtTheirLine) {
  const std::string base = "train:\n  micro_batch_size: 1\n  global_batch_size: 8\ndataset:\n  seq_length: 128\n";
  EXPECT_EQ(refusal_of(base + "model:\n  moe_layer_wonders: 3\n", {"model"}),
            ":7: --model.moe-layer-wonders: is not known and may change the answer; delete it from the file if it does "
            "not");
  EXPECT_EQ(refusal_of(base + "model:\n  seq_length: 128\npeft:\n  dim: many\n", {"model"}),
            ":9: --peft.dim: takes one whole number above 0");
  EXPECT_EQ(refusal_of(base + "model:\n  seq_length: 128\nmixed_precision: half\n", {"model"}),
            ":8: mixed_precision: 'half' is no name of its mixed precision; write bf16_mixed or the like");
}

TEST(JobFile, AdaptersOfMegatronBridgeHaveItsModulesUnlessTheyAreGiven) {
  const std::string base =
      "train:\n  micro_batch_size: 1\n  global_batch_size: 8\ndataset:\n  seq_length: 128\n"
      "model:\n  seq_length: 128\npeft:\n  dim: 8\n";
  const JobFile usual = read_job_text(base, {"model"}).value();
  EXPECT_TRUE(sets(usual, "layout.lora_rank=8"));
  EXPECT_TRUE(sets(usual, "layout.lora_targets=[linear_qkv,linear_proj,linear_fc1,linear_fc2]"));
  const JobFile given = read_job_text(base + "  target_modules: [linear_q, linear_fc1_up]\n", {"model"}).value();
  EXPECT_TRUE(sets(given, "layout.lora_targets=[q_proj, up_proj]"));
}

// -- MaxText

TEST(JobFile, ACommandOfMaxTextIsALayout) {
  const std::string start =
      "python3 -m maxtext.trainers.pre_train.train src/maxtext/configs/base.yml run_name=x "
      "model_name=llama2-7b per_device_batch_size=0.5 max_target_length=4096 steps=10 ici_tensor_parallelism=8 ";
  const JobFile job = read_job_text(start +
                                    "dcn_fsdp_parallelism=4 ici_fsdp_parallelism=1 "
                                    "dcn_data_parallelism=2 gradient_accumulation_steps=3 "
                                    "remat_policy=minimal_with_context quantization=fp8 attention=cudnn_flash_te")
                          .value();
  EXPECT_EQ(job.program, "MaxText");
  EXPECT_EQ(job.model, "llama2-7b");
  EXPECT_TRUE(job.unknown.empty());
  for (const char* set : {"layout.tp=8", "layout.dp=8", "layout.zero=3", "layout.shard_group=4", "layout.micro_batch=4",
                          "layout.global_batch=96", "layout.seq=4096", "layout.precision=fp8",
                          "layout.recompute_modules=[act, layernorm]", "layout.context=all_gather"})
    EXPECT_TRUE(sets(job, set)) << set;
  EXPECT_EQ(refusal_of(start), ": what the other degrees leave is not known; give a machine with a size");
  EXPECT_EQ(refusal_of(start + "ici_fsdp_parallelism=8 remat_policy=custom"),
            ":1: --remat-policy: the policy 'custom' is not read; give --recompute");
  EXPECT_EQ(refusal_of(start + "ici_fsdp_parallelism=8 ici_pipeline_parallelism=2"),
            ": pipeline parallelism of MaxText is not modelled");
  EXPECT_EQ(refusal_of(start + "ici_fsdp_parallelism=0"),
            ":1: --ici-fsdp-parallelism: is no degree: a whole number, or -1 for what the others leave");
}

TEST(JobFile, AConfigurationOfMaxTextHasAModelByItsSizes) {
  const JobFile job = read_job_text(
                          "base_emb_dim: 512\nbase_num_query_heads: 8\nbase_num_kv_heads: 2\nhead_dim: 64\n"
                          "base_mlp_dim: 1024\nbase_num_decoder_layers: 4\nvocab_size: 32_000\n"
                          "num_experts: 8\nnum_experts_per_tok: 2\nmlp_activations: [\"silu\", \"linear\"]\n"
                          "logits_via_embedding: False\nici_fsdp_parallelism: 8\nper_device_batch_size: 2\n"
                          "optimizer_memory_host_offload: True\n")
                          .value();
  EXPECT_EQ(job.model,
            "{ffn: 1024, head_dim: 64, heads: 8, hidden: 512, kv_heads: 2, layers: 4, mlp: gated, moe: {experts: 8, "
            "ffn: 1024, per_token: 2}, name: job, tied_embeddings: false, vocab: 32000}");
  for (const char* set : {"layout.zero=3", "layout.dp=8", "layout.micro_batch=2", "layout.global_batch=16",
                          "layout.recompute=full", "layout.offload.optimizer=true"})
    EXPECT_TRUE(sets(job, set)) << set;
}

}  // namespace
}  // namespace busbar::questions
