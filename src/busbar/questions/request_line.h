// A request as the command line that gives the same answer.
#pragma once

#include <string>

#include "busbar/accuracy/scored_row.h"
#include "busbar/predict/request.h"
#include "busbar/spec/scenario.h"

namespace busbar::questions {

/// "busbar collective dgx-h100:2 all_reduce -b 1048576 -e 1048576 --ranks 0:16 --nccl 2.30", quoted for a shell.
std::string request_line(const predict::CollectiveRequest& request);

/// What `busbar train` and `busbar plan` were asked for, besides the layout.
struct StepRequest {
  std::string cluster, model, layout;  ///< as typed; `layout`: a file, or empty
  spec::TrainedFlags trained;
  spec::Overrides overrides;
  predict::PredictOptions predict;
  std::string engine = "flow";
  std::uint32_t gpus = 0;             ///< the first GPUs of the machine; 0: all
  std::uint32_t gpus_per_domain = 0;  ///< of each server or rack; 0: all
};
/// The same for a measured training step: "busbar train --cluster ... --framework nemo:24.09 --tp 8 ...".
std::string request_line(const accuracy::StepQuestion& question);

/// "busbar train --cluster dgx-h100:64 --model llama3-70b --tp 8 ...": the step with a layout of the space around what
/// was asked for.
std::string request_line(const StepRequest& request, const workload::LayoutSpec& layout);

}  // namespace busbar::questions
