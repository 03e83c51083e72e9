// The commands of a shell script that starts a job, with its variables put in.
//
//   TP=8                                    # becomes the command
//   ARGS=(--tensor-model-parallel-size $TP) # torchrun pretrain.py --tensor-model-parallel-size 8
//   torchrun pretrain.py ${ARGS[@]}
//
// Nothing is run. A variable that the script does not set, and the output of a command, are not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"

namespace busbar::formats {

struct ScriptWord {
  std::string text;
  int line = 0;         ///< where it stands
  std::string unknown;  ///< the first part that the script does not decide, "$TP"; empty: all of `text` is known
  int condition = 0;    ///< line of the `if`, loop or case that holds it and cannot be decided here; 0: none
};
using ScriptCommand = std::vector<ScriptWord>;

/// Commands in order; those of branches that are not taken are left out. A file of flags alone, on any number of lines,
/// is one command. `name`: the file's, in messages. Errors: a quote or a parenthesis that does not end, a word of
/// megabytes.
Result<std::vector<ScriptCommand>> read_launch_script(std::string_view text, const std::string& name);

}  // namespace busbar::formats
