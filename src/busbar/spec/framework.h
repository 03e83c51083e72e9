// What a training framework does where a layout does not say.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/yaml.h"
#include "busbar/spec/catalog.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar {

/// Names that set_framework knows, and their aliases.
std::vector<std::string> framework_names();
/// The name that set_framework knows: "fsdp2-torchtitan" for "torchtitan".
std::string framework_of(const std::string& name);

/// Kernels, overlap and the precision of sums in `framework`, on a layout whose degrees, ZeRO and precision are known.
/// Other names: a program of one's own on PyTorch. Source: docs/accuracy.md, section on training steps, names document
/// and version for each line.
void set_framework(const std::string& framework, LayoutSpec& layout);

/// The version of a release in a file of catalog/frameworks. Time of kernels against those of Megatron-Core: 1 without
/// the key. Where the file says how it falls from release to release, that of the container `release`, named by year
/// and month as "26.04.01"; for an empty `release` that of the file's own.
Result<double> kernel_time_in(const YamlDocument& framework, const std::string& release);
/// Host time per kernel of one expert, in catalog/frameworks/megatron-core.yaml.
Result<Duration> expert_launch_in(const YamlDocument& framework);

/// `given` with the defaults of `framework` where it names no key: those above, and what is recomputed when a user of
/// the framework sets nothing (full layers in MaxText, every second layer in torchtitan, else nothing).
/// Error: a name that is not known, at `where`.
Result<LayoutSpec> layout_in_framework(const std::string& framework, const Where& where, const ModelSpec& model,
                                       const LayoutSpec& given, const Catalog& catalog);

/// "attention flash2, loss torch": the keys that differ, with their values in `after`.
std::string layout_changes(const LayoutSpec& before, const LayoutSpec& after);

}  // namespace busbar
