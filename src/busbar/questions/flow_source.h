// Where flows come from: a list in a file, or random sizes and starts at a given load.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/questions/flow_csv.h"
#include "busbar/spec/cluster.h"

namespace busbar::questions {

struct FlowSource {
  std::string file;                  ///< a list or a trace; empty: random flows
  std::vector<std::string> job;      ///< further ones that run at the same time: FILE or FILE@GPU
  std::string groups;                ///< traces: the file with the ranks of groups
  std::string sizes, until = "1ms";  ///< random flows: their sizes, and the time of the last start
  double load = 0;                   ///< of each host's cables, 0 to 1
  std::string out;                   ///< write the list to this file too; empty: nowhere
};
const Record& record_of(const FlowSource*);

/// The flows, named by their ids or, if random, by numbers from 0 in order of their starts; of several jobs, job n from
/// 0 on, as n:id. Errors: of read_flow_csv(), read_flow_trace(), read_flow_sizes() and add_background(); kInvalid if
/// there is neither a file nor sizes, or both.
Result<NamedFlows> read_flows(const FlowSource& source, const spec::Cluster& cluster, const routing::Router& router,
                              std::uint64_t seed, const std::string& catalog_directory);

/// One of several lists that run at once.
struct JobEnd {
  std::string file;
  std::uint64_t flows = 0;
  std::optional<double> end_us;  ///< empty: it has not ended
};
const Record& record_of(const JobEnd*);
/// `end_us(f)`: the end of a flow; negative: it has not ended.
std::vector<JobEnd> job_ends(const NamedFlows& named, const std::function<double(std::size_t)>& end_us);

}  // namespace busbar::questions
