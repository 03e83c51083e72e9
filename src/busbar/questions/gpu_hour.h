// What an hour of a GPU costs, rented and bought.
#pragma once

#include <optional>
#include <string>

#include "busbar/base/record.h"
#include "busbar/spec/cluster.h"

namespace busbar::questions {

/// Bought: the whole machine over its years and its electricity, over all hours of its GPUs. Not in it: storage, its
/// network, the management network, buildings and people. Rented: what the machine's file says.
struct GpuHour {
  std::optional<double> rented_usd;                       ///< null: not known
  std::optional<double> bought_low_usd, bought_high_usd;  ///< null: no price is known
  bool bought_complete = true;  ///< false: a part of the machine has no price, and it costs more
  double years = 0;
};
const Record& record_of(const GpuHour*);

/// By the catalogue's prices and the terms that `busbar cost` assumes. `catalog`: a folder to read before the built-in
/// files.
GpuHour gpu_hour(const spec::Cluster& cluster, const std::string& catalog);

}  // namespace busbar::questions
