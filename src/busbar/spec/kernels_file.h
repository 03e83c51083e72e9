// Kernel times of a GPU from YAML: catalog/kernels/.
#pragma once

#include <string_view>

#include "busbar/base/yaml.h"
#include "busbar/spec/catalog.h"
#include "busbar/spec/cluster.h"
#include "busbar/workload/kernels.h"

namespace busbar {

/// Reads one table. Every figure must have a source; unknown keys are refused.
Result<KernelTable> read_kernels(const YamlDocument& document);

/// The table of a GPU by its catalogue name: "h100-sxm"; "a100-sxm-80" is found as "a100-sxm".
/// Error kNotFound: the kernels of this GPU are unknown.
Result<KernelTable> load_kernels(std::string_view gpu_part, const Catalog& catalog);
/// The table of the cluster's GPU. If the cluster sets another memory rate than the catalogue, the table's memory rate,
/// and all times limited by memory, change by the same factor.
Result<KernelTable> load_kernels(const Cluster& cluster, const Catalog& catalog);

}  // namespace busbar
