// A layout in the words of other programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar::questions {

/// The flags, or the configuration, with which a program runs a layout.
struct ProgramFlags {
  std::string program, flags;
  std::string remark;  ///< what it cannot do of the layout; empty: nothing
};

/// Sources of the flags of offload: Megatron-LM `docs` on the optimizer's CPU offload and on fine-grained activation
/// offloading, and the checks in `transformer_config.py`; DeepSpeed `docs/_pages/config-json.md`; torchtitan
/// `job_config.py` and its issue 2379; NeMo performance recipes, and the Megatron-Bridge guide on CPU offloading.
/// `domain`: GPUs of an NVLink domain or the like, over which MaxText lays its inner axes.
std::vector<ProgramFlags> framework_flags(const workload::ModelSpec& model, const workload::LayoutSpec& l,
                                          std::uint32_t domain);

}  // namespace busbar::questions
