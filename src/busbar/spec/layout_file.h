// Reads a layout from YAML and from flags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "busbar/base/yaml.h"
#include "busbar/workload/layout.h"

namespace busbar::spec {

/// What is trained and how: flags of train and plan alike. Lists are separated by commas.
struct TrainedFlags {
  std::optional<std::int64_t> lora_rank;
  std::optional<std::string> lora_targets, lora_base, optimizer, moments, documents;
};

/// The layout flags of a command line; a given flag overrides the file.
struct LayoutFlags {
  std::optional<std::int64_t> tp, pp, vpp, dp, cp, ep, seq, micro_batch, global_batch, zero;
  std::optional<std::int64_t> gpus_per_domain;  ///< Scenario::gpus_per_domain
  std::optional<std::string> precision, recompute, offload;
  TrainedFlags trained;
};

/// Reads one layout; degrees are checked against model and machine later, by resolve_layout(). Unknown keys are
/// refused. Keys that are not given keep their values in `base`.
Result<workload::LayoutSpec> read_layout(const YamlNode& node, workload::LayoutSpec base = {});

/// Bytes per gradient of a compression that layouts take by name ("int8"); 0 for "none", no value for other names.
std::optional<double> compressed_gradient_bytes(std::string_view scheme);

/// Applies flags to `layout`. Errors name the flag.
Status apply_flags(const LayoutFlags& flags, workload::LayoutSpec& layout);

}  // namespace busbar::spec
