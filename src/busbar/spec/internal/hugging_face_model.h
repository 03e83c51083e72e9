// A model from the config.json that Hugging Face's repositories hold.
#pragma once

#include "busbar/base/yaml.h"
#include "busbar/workload/model.h"

namespace busbar::spec {

/// Whether a document is such a file: it names an architecture.
bool is_hugging_face_config(const YamlNode& root);

/// Reads one model. Unknown keys are ignored, missing and contradictory ones refused by name and place. Of models that
/// see and hear, the text decoder (`text_config`). Error kUnsupported: layers without attention, encoders.
/// Source: huggingface/transformers, src/transformers/models/*/configuration_*.py (4.57, 2025): names and defaults.
Result<workload::ModelSpec> read_hugging_face(const YamlNode& root);

}  // namespace busbar::spec
