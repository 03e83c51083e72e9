// A layout in the words of other programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar::questions {

/// Per program its name and the flags that run the layout, followed by what the program cannot do of it.
/// Sources of the flags of offload: Megatron-LM `docs` on the optimizer's CPU offload and on fine-grained activation
/// offloading, and the checks in `transformer_config.py`; DeepSpeed `docs/_pages/config-json.md`; torchtitan
/// `job_config.py` and its issue 2379; NeMo performance recipes, and the Megatron-Bridge guide on CPU offloading.
std::vector<std::pair<std::string, std::string>> framework_flags(const workload::ModelSpec& model,
                                                                 const workload::LayoutSpec& l);

}  // namespace busbar::questions
