// Shell completion, generated from the table of flags.
#pragma once

#include <string>
#include <vector>

#include "busbar/cli/flags.h"

namespace busbar {

/// Names from the catalogue that are valid for CLUSTER and MODEL.
struct CompletionWords {
  std::vector<std::string> machines, models;
};

std::string bash_completion(const std::vector<Command>& commands, const CompletionWords& words);
std::string zsh_completion(const std::vector<Command>& commands, const CompletionWords& words);
std::string fish_completion(const std::vector<Command>& commands, const CompletionWords& words);

}  // namespace busbar
