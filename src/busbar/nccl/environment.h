// NCCL's environment variables: which ones the model knows, and what each one sets.
//
// Source: NVIDIA NCCL 2.30.7, NCCL_PARAM of src/ and NCCL's documentation, environment variables.
#pragma once

#include <span>
#include <string_view>

#include "busbar/base/result.h"
#include "busbar/nccl/settings.h"

namespace busbar {

struct NcclVariable {
  std::string_view name;    ///< "NCCL_NVLS_ENABLE"
  std::string_view values;  ///< "0 or 1"
  std::string_view effect;  ///< one line: what it changes
  Status (*set)(std::string_view value, NcclSettings& settings);
};
/// Those that change a prediction, in groups: paths, network, algorithms, channels, bytes.
std::span<const NcclVariable> nccl_variables();

/// Sets what "NAME=VALUE" says; a later setting of the same thing wins. A variable of NCCL that changes no time, such
/// as NCCL_DEBUG, is accepted. Errors: kInvalid for a value that NCCL would not take or a name that it does not have,
/// with the nearest one; kUnsupported for a variable that changes times in a way that the model does not know.
Status parse_nccl_setting(std::string_view text, NcclSettings& settings);

}  // namespace busbar
