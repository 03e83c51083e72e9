// Layers of several kinds in one config.json: lists of types, patterns of letters, and shapes by family.
#pragma once

#include <string>

#include "busbar/spec/internal/hugging_face_keys.h"
#include "busbar/workload/model.h"

namespace busbar::spec {

/// Fills kinds and kind_of of `m`, whose other members are read, if its layers differ by more than `moe` and `window`
/// say. Source of keys: configuration files of the families' repositories and of transformers (5.x, 2026).
bool has_halves(HuggingFaceKeys& keys, const std::string& type);
void read_layer_kinds(HuggingFaceKeys& keys, const std::string& type, workload::ModelSpec& m);

/// Letters or names of the layers of a Nemotron-H; empty: the file has none.
std::string hybrid_pattern(HuggingFaceKeys& keys, KeyNames letters, KeyNames names);

/// Towers that see images, where their keys are known; else a note says what is left out. `root`: the whole file.
void read_towers(HuggingFaceKeys& root, workload::ModelSpec& m);

}  // namespace busbar::spec
