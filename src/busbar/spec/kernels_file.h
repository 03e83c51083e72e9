// Kernel times of a GPU from YAML: catalog/kernels/.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/yaml.h"
#include "busbar/spec/catalog.h"
#include "busbar/spec/cluster.h"
#include "busbar/workload/kernels.h"

namespace busbar::spec {

/// Reads one table. Keys that it lacks are those of the table named by its key `like`. `part`: the GPU, whose peaks,
/// memory rate and power limit hold. Every figure must have a source; unknown keys are refused.
Result<workload::KernelTable> read_kernels(YamlDocument document, const YamlNode& part, const Catalog& catalog);

/// The table of a GPU by its catalogue name: that of "a100-sxm-80" is "a100-sxm". Without a table: the roofline of the
/// part's peak and memory rate. Error kNotFound: no such GPU in the catalogue.
Result<workload::KernelTable> load_kernels(std::string_view gpu_part, const Catalog& catalog);
/// The table of the cluster's GPU. If the cluster sets another memory rate than the catalogue, the table's memory rate,
/// and all times limited by memory, change by the same factor.
Result<workload::KernelTable> load_kernels(const Cluster& cluster, const Catalog& catalog);

/// The name in catalog/clocks of the curve of a GPU's generation; empty: it has none.
Result<std::string> clock_curve_of(std::string_view gpu_part, const Catalog& catalog);

}  // namespace busbar::spec
