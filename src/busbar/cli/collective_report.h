// Reports of `busbar collective`.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/collective_options.h"
#include "busbar/predict/prediction.h"
#include "busbar/report/document.h"

namespace busbar {

/// The row that the summary describes: of the largest size, the fastest.
const Prediction& summary_row(const std::vector<Prediction>& rows);

/// One entry of "results". `n`: ranks.
Json to_json(const Prediction& r, double n, Collective op, const Topology& t);

/// The table of all rows and the summary of the largest size. `chosen`: how algorithms were chosen, "as NCCL 2.30
/// chooses".
Document to_document(const CollectiveOptions& o, const Cluster& c, std::uint32_t gpus, Collective op,
                     const std::vector<Prediction>& rows, const Band& band, const std::string& chosen);

}  // namespace busbar
