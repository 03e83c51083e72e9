#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "busbar/spec/catalog.h"
#include "busbar/spec/model_file.h"

namespace busbar::spec {
namespace {

Result<workload::ModelSpec> read_config(const std::string& json) {
  auto document = YamlDocument::parse(json, "config.json");
  if (!document.ok()) return document.error();
  return read_model(document->root());
}

void expect_as_in_catalogue(const char* name, const std::string& json) {
  const auto config = read_config(json);
  ASSERT_TRUE(config.ok()) << name << ": " << config.error().text();
  const workload::ModelSpec a = *config, b = read_model(Catalog().load("models", name).value().root()).value();
  const auto numbers = [](const workload::ModelSpec& m) {
    const workload::ExpertSpec& e = m.moe;
    const workload::LatentAttentionSpec& l = m.latent;
    return std::vector<std::uint32_t>{m.layers,
                                      m.hidden,
                                      m.ffn,
                                      m.heads,
                                      m.kv_heads,
                                      m.head_dim,
                                      m.gated_mlp,
                                      m.vocab,
                                      m.tied_embeddings,
                                      e.experts,
                                      e.per_token,
                                      e.ffn,
                                      e.shared,
                                      e.dense_layers,
                                      e.every,
                                      e.most_nodes,
                                      l.q_rank,
                                      l.kv_rank,
                                      l.nope_dim,
                                      l.rope_dim,
                                      l.v_dim,
                                      m.window.tokens,
                                      m.window.full_every,
                                      m.mtp,
                                      m.qk_norm};
  };
  EXPECT_EQ(numbers(a), numbers(b)) << name;
}

// The numbers of the released files, most other keys left out.
TEST(HuggingFaceModel, ReleasedFilesAreTheModelsOfTheCatalogue) {
  expect_as_in_catalogue("llama3-8b",
                         R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_scaling": null, "tie_word_embeddings": false,
    "vocab_size": 128256})");
  expect_as_in_catalogue("mixtral-8x7b", R"({"model_type":"mixtral","hidden_size":4096,"intermediate_size":14336,
    "num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"num_local_experts":8,
    "num_experts_per_tok":2,"sliding_window":null,"vocab_size":32000})");
  expect_as_in_catalogue("qwen3-30b-a3b", R"({"model_type": "qwen3_moe", "head_dim": 128, "hidden_size": 2048,
    "intermediate_size": 6144, "moe_intermediate_size": 768, "num_attention_heads": 32, "num_hidden_layers": 48,
    "num_key_value_heads": 4, "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1,
    "mlp_only_layers": [], "sliding_window": null, "use_sliding_window": false, "tie_word_embeddings": false,
    "vocab_size": 151936})");
  expect_as_in_catalogue("deepseek-v3", R"({"model_type": "deepseek_v3", "first_k_dense_replace": 3,
    "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512, "moe_intermediate_size": 2048,
    "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 128,
    "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128, "num_nextn_predict_layers": 1,
    "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "topk_group": 4, "v_head_dim": 128,
    "quantization_config": {"weight_block_size": [128, 128]}, "tie_word_embeddings": false, "vocab_size": 129280})");
  expect_as_in_catalogue("kimi-k2", R"({"architectures": ["DeepseekV3ForCausalLM"], "model_type": "kimi_k2",
    "first_k_dense_replace": 1, "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
    "moe_intermediate_size": 2048, "n_group": 1, "n_routed_experts": 384, "n_shared_experts": 1,
    "num_attention_heads": 64, "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 64,
    "num_nextn_predict_layers": 0, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "topk_group": 1, "v_head_dim": 128, "vocab_size": 163840})");
  std::string types;
  for (int i = 0; i < 24; ++i)
    types += std::string(i > 0 ? ", " : "") + (i % 2 == 0 ? "\"sliding" : "\"full") + "_attention\"";
  const std::string oss = R"({"model_type": "gpt_oss", "head_dim": 64, "hidden_size": 2880, "intermediate_size": 2880,
    "num_attention_heads": 64, "num_hidden_layers": 24, "num_key_value_heads": 8, "num_local_experts": 32,
    "num_experts_per_tok": 4, "experts_per_token": 4, "sliding_window": 128, "tie_word_embeddings": false,
    "vocab_size": 201088)";
  expect_as_in_catalogue("gpt-oss-20b", oss + "}");
  expect_as_in_catalogue("gpt-oss-20b", oss + ", \"layer_types\": [" + types + "]}");
  expect_as_in_catalogue("llama4-maverick", R"({"model_type": "llama4", "tie_word_embeddings": false,
    "vision_config": {"hidden_size": 1408}, "text_config": {"model_type": "llama4_text", "attention_chunk_size": 8192,
    "head_dim": 128, "hidden_size": 5120, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
    "interleave_moe_layer_step": 2, "num_attention_heads": 40, "num_experts_per_tok": 1, "num_hidden_layers": 48,
    "num_key_value_heads": 8, "num_local_experts": 128, "vocab_size": 202048}})");
  expect_as_in_catalogue("grok-1", R"({"architectures": ["Grok1ModelForCausalLM"], "model_type": "grok-1",
    "hidden_size": 6144, "intermediate_size": 32768, "num_attention_heads": 48, "num_experts": 8,
    "num_experts_per_tok": 2, "num_hidden_layers": 64, "num_key_value_heads": 8, "vocab_size": 131072})");
}

// Sizes as published; learned positions and biases are not counted.
TEST(HuggingFaceModel, OtherNamesOfTheSameNumbersAreRead) {
  const struct {
    const char* json;
    double parameters;
  } cases[] = {
      {R"({"model_type": "gpt2", "n_embd": 1600, "n_head": 25, "n_inner": null, "n_layer": 48, "vocab_size": 50257})",
       1.558e9},
      {R"({"model_type": "gpt_neox", "hidden_size": 6144, "intermediate_size": 24576, "num_attention_heads": 64,
           "num_hidden_layers": 44, "vocab_size": 50432})",
       20.55e9},
      {R"({"model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240, "num_attention_heads": 32,
           "num_hidden_layers": 32, "num_key_value_heads": 32, "tie_word_embeddings": false, "vocab_size": 51200})",
       2.78e9},
      {R"({"model_type": "gemma2", "head_dim": 128, "hidden_size": 4608, "intermediate_size": 36864,
           "num_attention_heads": 32, "num_hidden_layers": 46, "num_key_value_heads": 16, "sliding_window": 4096,
           "vocab_size": 256000})",
       27.2e9},
      {R"({"model_type": "deepseek_v2", "first_k_dense_replace": 1, "hidden_size": 2048, "intermediate_size": 10944,
           "kv_lora_rank": 512, "moe_intermediate_size": 1408, "n_group": 1, "n_routed_experts": 64,
           "n_shared_experts": 2, "num_attention_heads": 16, "num_experts_per_tok": 6, "num_hidden_layers": 27,
           "num_key_value_heads": 16, "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
           "topk_group": 1, "v_head_dim": 128, "vocab_size": 102400})",
       15.7e9},
      {R"({"model_type": "qwen2_moe", "hidden_size": 2048, "intermediate_size": 5632, "moe_intermediate_size": 1408,
           "num_attention_heads": 16, "num_experts": 60, "num_experts_per_tok": 4, "num_hidden_layers": 24,
           "num_key_value_heads": 16, "shared_expert_intermediate_size": 5632, "sliding_window": 32768,
           "use_sliding_window": false, "vocab_size": 151936})",
       14.3e9},
      {R"({"model_type": "dbrx", "attn_config": {"kv_n_heads": 8}, "d_model": 6144, "ffn_config": {"ffn_hidden_size":
           10752, "moe_num_experts": 16, "moe_top_k": 4}, "n_heads": 48, "n_layers": 40, "vocab_size": 100352})",
       131.6e9},
      {R"({"model_type": "my_llama", "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 11008,
           "num_attention_heads": 32, "num_hidden_layers": 32, "vocab_size": 32000})",
       6.74e9},
  };
  for (const auto& c : cases) {
    const auto m = read_config(c.json);
    ASSERT_TRUE(m.ok()) << m.error().text();
    EXPECT_NEAR(static_cast<double>(workload::parameter_count(*m)), c.parameters, 0.006 * c.parameters) << m->name;
  }
  const workload::ModelSpec gemma = read_config(cases[3].json).value();
  EXPECT_EQ(gemma.window.tokens, 4096u);
  EXPECT_EQ(gemma.window.full_every, 2u);
  EXPECT_EQ(read_config(cases[5].json).value().window.tokens, 0u);
}

// Sizes of the files at huggingface.co/ibm-granite (safetensors in bf16: 12.93 GiB and 59.99 GiB; 3B by its card).
TEST(HuggingFaceModel, GranitesHybridsHaveTheSizesOfTheirCheckpoints) {
  std::string types;
  for (int i = 0; i < 40; ++i) types += std::string(i > 0 ? ", " : "") + (i % 10 == 5 ? "\"attention\"" : "\"mamba\"");
  const std::string common =
      R"({"model_type": "granitemoehybrid", "num_hidden_layers": 40, "layer_types": [)" + types +
      R"(], "mamba_d_conv": 4, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_expand": 2,
      "mamba_chunk_size": 256, "mamba_conv_bias": true, "mamba_proj_bias": false, "position_embedding_type": "nope",
      "normalization_function": "rmsnorm", "tie_word_embeddings": true, "vocab_size": 100352, )";
  const std::pair<const char*, double> cases[] = {
      {R"("hidden_size": 1536, "intermediate_size": 512, "shared_intermediate_size": 1024, "num_attention_heads": 12,
       "num_key_value_heads": 4, "num_local_experts": 64, "num_experts_per_tok": 6, "mamba_n_heads": 48})",
       6.942e9},
      {R"("hidden_size": 4096, "intermediate_size": 768, "shared_intermediate_size": 1536, "num_attention_heads": 32,
       "num_key_value_heads": 8, "num_local_experts": 72, "num_experts_per_tok": 10, "mamba_n_heads": 128})",
       32.21e9},
      {R"("hidden_size": 2048, "intermediate_size": 8192, "shared_intermediate_size": 8192, "num_attention_heads": 32,
       "num_key_value_heads": 8, "num_local_experts": 0, "num_experts_per_tok": 0, "mamba_n_heads": 64})",
       3.19e9}};
  for (const auto& [own, parameters] : cases) {
    const auto m = read_config(common + own);
    ASSERT_TRUE(m.ok()) << m.error().text();
    EXPECT_NEAR(static_cast<double>(workload::parameter_count(*m)), parameters, 0.005 * parameters);
    EXPECT_EQ(m->kinds.size(), 2u) << "Mamba-2 and attention, with the same MLP";
    EXPECT_EQ(workload::layer_table(*m).kind(5).mixer.kind, workload::MixerKind::kAttention);
  }
}

// Totals: table of models in arXiv:2507.22448 (2025).
TEST(HuggingFaceModel, FalconH1RunsMambaNextToAttention) {
  const std::string common =
      R"({"model_type": "falcon_h1", "mamba_d_conv": 4, "mamba_expand": 2, "mamba_chunk_size": 256,
      "mamba_rms_norm": false, "mamba_use_mlp": true, "ssm_in_multiplier": 1.0, "tie_word_embeddings": false, )";
  const std::pair<const char*, double> cases[] = {
      {R"("hidden_size": 1024, "intermediate_size": 2048, "num_hidden_layers": 36, "num_attention_heads": 8,
       "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 32784, "mamba_d_ssm": 1536, "mamba_n_heads": 24,
       "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1})",
       521e6},
      {R"("hidden_size": 3072, "intermediate_size": 12288, "num_hidden_layers": 44, "num_attention_heads": 12,
       "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 130048, "mamba_d_ssm": 3072, "mamba_n_heads": 24,
       "mamba_d_head": 128, "mamba_d_state": 256, "mamba_n_groups": 1})",
       7.59e9},
      {R"("hidden_size": 5120, "intermediate_size": 21504, "num_hidden_layers": 72, "num_attention_heads": 20,
       "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 261120, "mamba_d_ssm": 4096, "mamba_n_heads": 32,
       "mamba_d_head": 128, "mamba_d_state": 256, "mamba_n_groups": 2})",
       33.6e9}};
  for (const auto& [own, parameters] : cases) {
    const auto m = read_config(common + own);
    ASSERT_TRUE(m.ok()) << m.error().text();
    EXPECT_NEAR(static_cast<double>(workload::parameter_count(*m)), parameters, 0.005 * parameters);
    EXPECT_EQ(m->kinds.size(), 2u) << "Mamba-2, and attention with an MLP";
  }
}

// 480B in all and 17B active: model card of Snowflake/snowflake-arctic-base (2024).
TEST(HuggingFaceModel, ArcticHasADensePartNextToItsExperts) {
  const std::string config =
      R"({"model_type": "arctic", "hidden_size": 7168, "intermediate_size": 4864, "num_attention_heads": 56,
      "num_hidden_layers": 35, "num_key_value_heads": 8, "num_local_experts": 128, "num_experts_per_tok": 2,
      "parallel_attn_mlp_res": true, "use_residual": true, "vocab_size": 32000, "moe_min_capacity": 0,
      "tie_word_embeddings": false, "moe_layer_frequency": )";
  const auto m = read_config(config + "1}");
  ASSERT_TRUE(m.ok()) << m.error().text();
  EXPECT_NEAR(static_cast<double>(workload::parameter_count(*m)), 480e9, 0.005 * 480e9);
  EXPECT_NEAR(static_cast<double>(workload::active_parameter_count(*m)), 17.3e9, 0.5e9);
  EXPECT_FALSE(read_config(config + "2}").ok());
}

// Totals of the safetensors of huggingface.co/LiquidAI/LFM2-1.2B; 8.3B by the card of LFM2-8B-A1B.
TEST(HuggingFaceModel, ShortConvolutionsHaveTheParametersOfLfm2) {
  const auto small = read_config(R"({"model_type": "lfm2", "block_auto_adjust_ff_dim": true, "block_dim": 2048,
      "block_ff_dim": 12288, "block_ffn_dim_multiplier": 1.0, "block_multiple_of": 256, "conv_L_cache": 3,
      "conv_bias": false, "full_attn_idxs": [2, 5, 8, 10, 12, 14], "hidden_size": 2048, "num_attention_heads": 32,
      "num_hidden_layers": 16, "num_key_value_heads": 8, "tie_embedding": true, "vocab_size": 65536})");
  ASSERT_TRUE(small.ok()) << small.error().text();
  EXPECT_NEAR(static_cast<double>(workload::parameter_count(*small)), 1170340608, 0.001 * 1170340608);
  EXPECT_EQ(small->ffn, 8192u);
  std::string types;
  for (int i = 0; i < 24; ++i)
    types += std::string(i > 0 ? ", " : "") + (i % 4 == 2 ? "\"full_attention\"" : "\"conv\"");
  const auto large = read_config(R"({"model_type": "lfm2_moe", "conv_L_cache": 3, "hidden_size": 2048,
      "intermediate_size": 7168, "moe_intermediate_size": 1792, "num_attention_heads": 32, "num_dense_layers": 2,
      "num_experts": 32, "num_experts_per_tok": 4, "num_hidden_layers": 24, "num_key_value_heads": 8,
      "use_expert_bias": true, "vocab_size": 65536, "layer_types": [)" +
                                 types + "]}");
  ASSERT_TRUE(large.ok()) << large.error().text();
  EXPECT_NEAR(static_cast<double>(workload::parameter_count(*large)), 8.34e9, 0.005 * 8.34e9);
  const workload::ModelSpec back = read_model(YamlDocument::parse(model_text(*large), "{...}")->root()).value();
  EXPECT_EQ(model_text(back), model_text(*large));
}

TEST(HuggingFaceModel, WhatIsMissingOrContradictsItselfIsRefusedAtItsPlace) {
  const std::string llama =
      "{\"model_type\": \"llama\",\n\"hidden_size\": 4096,\n\"intermediate_size\": 11008,\n\"num_attention_heads\": "
      "32,\n"
      "\"vocab_size\": 32000";
  const std::string whole = llama + ",\n\"num_hidden_layers\": 4";
  const std::pair<std::string, const char*> cases[] = {
      {llama + "}", "config.json:1:1: num_hidden_layers or n_layer or n_layers or num_layers is missing"},
      {llama + ",\n\"num_hidden_layers\": \"many\"}", "config.json:6:22"},
      {llama + ",\n\"num_hidden_layers\": 0}", "config.json:6:22"},
      {whole + ",\n\"num_key_value_heads\": 5}", "config.json:7:24"},
      {whole + ",\n\"num_local_experts\": 8}", "num_experts_per_tok"},
      {whole + ",\n\"num_local_experts\": 8, \"num_experts_per_tok\": 9}", "a token cannot meet 9 of 8 experts"},
      {whole + ",\n\"kv_lora_rank\": 512}", "qk_nope_head_dim is missing"},
      {whole + ",\n\"sliding_window\": 64, \"layer_types\": [\"sliding_attention\"]}", "1 types for 4 layers"},
      {whole + ",\n\"layer_types\": [\"full_attention\", \"spiral\", \"full_attention\", \"full_attention\"]}",
       "layer 1: 'spiral' is not modelled"},
      {whole + ",\n\"num_experts\": 8, \"num_experts_per_tok\": 2, \"mlp_only_layers\": [4]}", "mlp_only_layers"},
      {whole + ",\n\"num_experts\": 8, \"num_experts_per_tok\": 2, \"moe_layer_freq\": [0, 1]}",
       "2 entries for 4 layers"},
      {whole + ",\n\"attn_chunk_pattern\": 3}",
       "config.json:7:23: attn_chunk_pattern: 'attn_chunk_pattern' is not known"},
      {whole + ",\n\"rms_norm_eps\": NaN, \"num_key_value_heads\": \"8x\"}", "num_key_value_heads"},
      {whole + ",\n\"num_key_value_heads\": NaN}", "num_key_value_heads"},
      {whole + ",\n\"vocab_size\": 3", "config.json"},
      {"{\"model_type\": \"nemotron_h\", \"hybrid_override_pattern\": \"MX\"}", "'X' at place 1"},
      {whole + ",\n\"num_experts\": 8, \"num_experts_per_tok\": 2, \"n_group\": 2, \"topk_group\": 4}",
       "4 of 2 groups"},
      {whole + ",\n\"mamba_d_state\": 128}", "config.json:7:18: mamba_d_state: layers without attention"},
      {whole + ",\n\"is_encoder_decoder\": true}", "encoders are not modelled"},
      {"{\"model_type\": \"other\", \"hidden_act\": \"gelu\"}", "config.json:1:16"},
  };
  for (const auto& [json, words] : cases) {
    const auto m = read_config(json);
    ASSERT_FALSE(m.ok()) << json;
    EXPECT_NE(m.error().text().find(words), std::string::npos) << m.error().text() << "\n" << words;
  }
}

TEST(HuggingFaceModel, LayersOfSeveralKindsAreReadOneByOne) {
  const std::string base =
      "{\"model_type\": \"llama\", \"hidden_size\": 512, \"intermediate_size\": 1024, \"num_attention_heads\": 8, "
      "\"vocab_size\": 1000, \"num_hidden_layers\": 4, \"sliding_window\": 64, \"layer_types\": ";
  const std::string list = "[\"full_attention\", \"sliding_attention\", \"full_attention\", \"sliding_attention\"]";
  const workload::ModelSpec m = read_config(base + list + "}").value();
  EXPECT_FALSE(workload::has_window(m, 0));
  EXPECT_TRUE(workload::has_window(m, 1));
  EXPECT_TRUE(workload::has_window(m, 3));
  EXPECT_EQ(workload::parameter_count(m), workload::parameter_count(read_config(base + "null}").value()));
}

TEST(HuggingFaceModel, WhatIsTakenForGrantedIsSaid) {
  const workload::ModelSpec m =
      read_config(R"({"model_type": "own", "hidden_act": "silu", "hidden_size": 512, "vocab_size": 1000,
      "intermediate_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2, "my_key": 3, "bos_token_id": 1})")
          .value();
  ASSERT_EQ(m.notes.size(), 3u);
  EXPECT_NE(m.notes[0].find("'own' is not known: read as a Llama"), std::string::npos);
  EXPECT_NE(m.notes[1].find("my_key"), std::string::npos);
  EXPECT_NE(m.notes[2].find("bos_token_id"), std::string::npos);
}

// transformers 4.57, nemotron_h: layers_block_type spells the letters of hybrid_override_pattern.
TEST(HuggingFaceModel, KindsOfLayersMayBeLettersOrWords) {
  std::ifstream file("tests/fixtures/hf-config/nvidia--Nemotron-H-56B-Base-8K.json");
  std::string letters((std::istreambuf_iterator<char>(file)), {});
  const std::string key = "\"hybrid_override_pattern\":\"";
  const std::size_t at = letters.find(key), first = at + key.size(), end = letters.find('"', first);
  std::string words;
  for (std::size_t i = first; i < end; ++i)
    words += std::string(words.empty() ? "" : ",") + (letters[i] == 'M'   ? "\"mamba\""
                                                      : letters[i] == '*' ? "\"attention\""
                                                                          : "\"mlp\"");
  const std::string spelt = letters.substr(0, at) + "\"layers_block_type\":[" + words + "]" + letters.substr(end + 1);
  EXPECT_EQ(model_text(read_config(spelt).value()), model_text(read_config(letters).value()));
}

/// The parameters that a row of tests/fixtures/hf-config/totals.tsv counts.
double counted(workload::ModelSpec m, const std::string& part) {
  if (part == "text without mtp") m.mtp = 0;
  return static_cast<double>(workload::parameter_count(m) + (part == "total" ? workload::tower_parameters(m) : 0));
}

// Hybrids with linear attention, Mamba-2, windows, indexers, missing blocks; quantised variants. Numbers that are
// stated with few digits are met within their rounding.
TEST(HuggingFaceModel, PublishedConfigurationsHaveTheParametersTheyState) {
  const std::string folder = "tests/fixtures/hf-config/";
  std::ifstream table(folder + "totals.tsv");
  std::string line;
  std::getline(table, line);
  std::size_t rows = 0;
  while (std::getline(table, line)) {
    std::istringstream cells(line);
    std::string file, stated, rounded, part;
    std::getline(cells, file, '\t');
    std::getline(cells, stated, '\t');
    std::getline(cells, rounded, '\t');
    std::getline(cells, part, '\t');
    const auto document = YamlDocument::load(folder + file);
    ASSERT_TRUE(document.ok()) << document.error().text();
    const auto m = read_model(document->root());
    ASSERT_TRUE(m.ok()) << m.error().text();
    const double n = std::stod(stated), allowed = std::max(0.005 * n, std::stod(rounded) / 2);
    EXPECT_NEAR(counted(*m, part), n, allowed) << file;
    const workload::ModelSpec back = read_model(YamlDocument::parse(model_text(*m), "{...}")->root()).value();
    EXPECT_EQ(model_text(back), model_text(*m)) << file;
    EXPECT_EQ(workload::flops_per_token(back, 4096).causal, workload::flops_per_token(*m, 4096).causal) << file;
    ++rows;
  }
  EXPECT_GE(rows, 60u);
}

}  // namespace
}  // namespace busbar::spec
