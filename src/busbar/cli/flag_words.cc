#include "busbar/cli/flag_words.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace busbar {

std::string flag_for_word(std::string_view flag, const std::vector<std::string>& known) {
  // Source: arguments of Megatron-LM (arguments.py), DeepSpeed's and torchtitan's configuration keys, as `plan` writes
  // them.
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"tensor-model-parallel-size", "--tp"},
      {"tensor-parallel-size", "--tp"},
      {"tensor-parallel-degree", "--tp"},
      {"pipeline-model-parallel-size", "--pp"},
      {"pipeline-parallel-size", "--pp"},
      {"pipeline-parallel-degree", "--pp"},
      {"num-virtual-stages-per-pipeline-rank", "--vpp"},
      {"virtual-pipeline-model-parallel-size", "--vpp"},
      {"data-parallel-size", "--dp"},
      {"context-parallel-size", "--cp"},
      {"context-parallel-degree", "--cp"},
      {"expert-model-parallel-size", "--ep"},
      {"expert-parallel-size", "--ep"},
      {"expert-parallel-degree", "--ep"},
      {"micro-batch-size", "--micro-batch"},
      {"mbs", "--micro-batch"},
      {"global-batch-size", "--global-batch"},
      {"gbs", "--global-batch"},
      {"batch", "--global-batch"},
      {"batch-size", "--global-batch"},
      {"seq-length", "--seq"},
      {"seq-len", "--seq"},
      {"seqlen", "--seq"},
      {"sequence-length", "--seq"},
      {"dtype", "--precision"},
      {"zero-stage", "--zero"},
      {"recompute-granularity", "--recompute"},
      {"message-size", "-b"},
      {"bytes", "-b"},
      {"size", "-b"},
      {"sizes", "-b"},
      {"output", "--out"},
      {"machine", "--cluster"},
      {"topology", "--cluster"},
      {"num-gpus", "-g"},
  };
  if (!flag.starts_with("--")) return {};
  std::string word(flag.substr(2));
  std::replace(word.begin(), word.end(), '_', '-');
  const auto it = std::ranges::find(kWords, word, &std::pair<std::string_view, std::string_view>::first);
  if (it == std::end(kWords) || std::find(known.begin(), known.end(), it->second) == known.end()) return {};
  return std::string(it->second);
}

}  // namespace busbar
