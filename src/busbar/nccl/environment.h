// NCCL's environment variables: which ones the model knows, and what each of them sets.
//
// Source: NVIDIA NCCL 2.30.7, NCCL_PARAM of src/ and NCCL's documentation, environment variables.
#pragma once

#include <span>
#include <string_view>

#include "busbar/base/result.h"
#include "busbar/nccl/settings.h"

namespace busbar::nccl {

struct NcclVariable {
  std::string_view name;    ///< "NCCL_NVLS_ENABLE"
  std::string_view values;  ///< "0 or 1"
  std::string_view effect;  ///< what it changes, in one line
  Status (*set)(std::string_view value, NcclSettings& settings);
};
/// The variables that change a prediction, in groups: paths, network, algorithms, channels, bytes.
std::span<const NcclVariable> nccl_variables();

/// Applies "NAME=VALUE"; a later setting overrides an earlier one. A variable of NCCL that does not change times, such
/// as NCCL_DEBUG, is accepted. Errors: kInvalid for a value that NCCL would refuse, or for a name unknown to NCCL, with
/// the nearest known name; kUnsupported for a variable whose effect on times is not modelled.
Status parse_nccl_setting(std::string_view text, NcclSettings& settings);

}  // namespace busbar::nccl
