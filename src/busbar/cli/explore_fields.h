// What the page of `busbar explore` lets a user choose, and the command line of a choice.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/result.h"

namespace busbar::cli {

/// Names and values as the page sends them, in its order: {"model", "llama3-70b"}.
using ExploreChoice = std::vector<std::pair<std::string, std::string>>;

/// The fields of the page, each with key, label, help, first value, and the values of its list or of its slider.
Json explore_fields();

/// What the page asks for: the step of the choice, or the answer to one of its buttons.
enum class ExploreAsk : std::uint8_t { kStep, kPlan, kMachines, kFabrics };

/// {"train", "dgx-h100:64", "llama3-70b", "--tp", "8", ...}, or the words of `plan` or `compare`. An empty value leaves
/// the command its default. Machines, fabric and model are names of the catalogue, never files; the command itself
/// checks numbers and words.
/// Errors: kInvalid for a field that the page lacks, a name that the catalogue lacks, signs that no value has, or no
/// machine to compare with.
Result<std::vector<std::string>> explore_words(const ExploreChoice& choice, ExploreAsk ask);

}  // namespace busbar::cli
