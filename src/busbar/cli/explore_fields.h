// What the page of `busbar explore` lets a user choose, and the command line of a choice.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/result.h"
#include "busbar/cli/explore_files.h"
#include "busbar/spec/scenario.h"

namespace busbar::cli {

/// Names and values as the page sends them, in its order: {"model", "llama3-70b"}.
using ExploreChoice = std::vector<std::pair<std::string, std::string>>;

/// The fields of the page, each with key, label, help, first value, and the values of its list or of its slider.
Json explore_fields();

/// What the page asks for: the step or the collective of the choice, the answer to one of its buttons, or the
/// collective over all sizes up to that of the choice.
enum class ExploreAsk : std::uint8_t { kStep, kPlan, kMachines, kFabrics, kCollective, kSizes };

/// The machines that a page can name: presets of the catalogue and files of the user. Safe for several threads.
class ExploreMachines {
 public:
  struct Size {
    std::uint32_t gpus = 0;  ///< of one server, rack or pod; of a file, of the whole machine
    bool grows = false;      ///< several of them have a network
  };
  explicit ExploreMachines(const ExploreFiles& files) : files_(files) {}
  const ExploreFiles& files() const { return files_; }
  /// Errors: as load_machine().
  Result<Size> size_of(const std::string& node);
  /// "dgx-h100:4" for 32 GPUs, or the path of a file. Errors: kInvalid of the field of GPUs where the number is none
  /// that the machine can have.
  Result<std::string> word_of(const std::string& node, const std::string& gpus);

 private:
  const ExploreFiles& files_;
  std::mutex mutex_;                   // guards the member below
  std::map<std::string, Size> sizes_;  ///< of presets
};

/// {"train", "dgx-h100:64", "llama3-70b", "--tp", "8", ...}, or the words of another command. An empty value leaves
/// the command its default. Machines, fabric and model are names of the catalogue or of files that the user gave, never
/// paths; the command itself checks numbers and words.
/// Errors: kInvalid for a field that the page lacks, a name that the catalogue lacks, signs that no value has, or no
/// machine to compare with.
Result<std::vector<std::string>> explore_words(const ExploreChoice& choice, ExploreAsk ask, ExploreMachines& machines);

/// The machine, model and layout of a choice.
struct ExploreScenario {
  std::string node, gpus;  ///< of the fields
  spec::ScenarioFlags flags;
  spec::Overrides overrides;
};
/// Errors: as explore_words(), and numbers that are none.
Result<ExploreScenario> explore_scenario(const ExploreChoice& choice, ExploreMachines& machines);

/// "tensor parallel (TP)" for "tp".
std::string_view explore_label(std::string_view key);

}  // namespace busbar::cli
