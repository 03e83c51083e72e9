// A model from YAML: a catalogue name, a file, or a map inside a scenario; or a config.json of Hugging Face.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/yaml.h"
#include "busbar/spec/catalog.h"
#include "busbar/workload/model.h"

namespace busbar::spec {

/// `m` as a map that read_model() reads: "{name: x, layers: 32, ...}".
std::string model_text(const workload::ModelSpec& m);

/// Reads and checks one model. Unknown keys are refused.
Result<workload::ModelSpec> read_model(const YamlNode& node);

/// The document of `name`: a map in braces, standard input, a file if it looks like a path (relative to `directory`),
/// otherwise an entry of the catalogue's `folder`.
Result<YamlDocument> find_document(std::string_view folder, std::string_view name, const std::string& directory,
                                   const Catalog& catalog);

/// Whether `name` denotes an input: "-", or a file, which contains a slash or ends in .yaml, .yml or .json.
bool looks_like_file(std::string_view name);

}  // namespace busbar::spec
