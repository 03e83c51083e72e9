// The scenario of a question: one machine, one model, one layout; and what a step of it depends on.
//
//   struct TrainRequest {
//     std::string scenario;
//     ScenarioFlags flags;
//     std::uint32_t gpus = 0;
//   };
//   joined({{scenario_field(&TrainRequest::scenario)}, fields_inside(&TrainRequest::flags),
//           {gpus_field(&TrainRequest::gpus)}})
#pragma once

#include <cstdint>
#include <string>

#include "busbar/base/record.h"
#include "busbar/spec/scenario.h"

namespace busbar::spec {

/// What is trained and how.
const Record& record_of(const TrainedFlags*);
/// The degrees and the other keys of a layout that have a field of their own. Flags of other programs for them:
/// questions/flag_words.cc.
const Record& record_of(const LayoutFlags*);
/// Cluster, model, layout file, framework and recipe; then the keys of a layout.
const Record& record_of(const ScenarioFlags*);

}  // namespace busbar::spec

namespace busbar::questions {

inline constexpr const char* kGlobalBatchMeaning =
    "sequences per step (default: as published for the model, else about 4 M tokens)";

/// SCENARIO, or a machine; sort_scenario_words() tells which. It stands before the fields of ScenarioFlags.
template <typename Asked>
Field scenario_field(std::string Asked::*scenario) {
  return Field("scenario", scenario, "", "YAML file that names cluster, model and layout; or the machine")
      .takes("SCENARIO")
      .as_word()
      .optional();
}

/// Whether a word is a model of the catalogue.
bool is_catalog_model(const std::string& word);
/// MODEL, which as a word may stand before the machine.
template <typename Asked>
Field model_field(std::string Asked::*model) {
  Field f = Field("model", model, "", "catalogue name or file").takes("MODEL").of("Scenario");
  return std::move(f).as_word(Field::Word::kAlso).optional().known_by(is_catalog_model);
}

/// "-g": the first GPUs, on the servers that hold them (take_servers).
template <typename Asked>
Field gpus_field(std::uint32_t Asked::*gpus) {
  return Field("gpus", gpus, "",
               "the first N GPUs, on the servers that hold them; a preset without a size gets as many")
      .spelled("-g,--gpus")
      .takes("N")
      .of("Scenario");
}

/// Moves words to where they belong when the first one is a machine: "dgx-h100:8 llama3-8b".
void sort_scenario_words(std::string& scenario, spec::ScenarioFlags& flags);

}  // namespace busbar::questions
