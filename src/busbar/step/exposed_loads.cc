#include "busbar/step/internal/exposed_loads.h"

#include <algorithm>
#include <map>
#include <string>

#include "busbar/base/id.h"

namespace busbar::step {
namespace {

struct Waiting {
  double seconds = 0;
  std::map<program::CallId, double> runs;  ///< number of whole runs that compute waits for
};

std::map<std::string, Waiting> waiting_of_roles(const std::vector<program::CallId>& calls,
                                                const trace::Timeline& timeline) {
  std::map<std::string, Waiting> roles;
  for (std::size_t s = 0; s < timeline.spans.size(); ++s) {
    const trace::Span& span = timeline.spans[s];
    if (calls[s] == kNone<program::CallId> || span.exposed <= Duration()) continue;
    Waiting& role = roles[timeline.tracks[index(span.track)].process];
    role.seconds += span.exposed.in_s();
    role.runs[calls[s]] += span.exposed.in_s() / span.duration.in_s();
  }
  return roles;
}

}  // namespace

void add_exposed_loads(const topology::Topology& topology, const engine::Engine& engine, const ProgramRun& run,
                       const std::vector<program::CallId>& calls, trace::Timeline& timeline) {
  const std::map<std::string, Waiting> roles = waiting_of_roles(calls, timeline);
  double longest = 0;
  for (const auto& [name, role] : roles) longest = std::max(longest, role.seconds);
  std::vector<double> bytes(topology.link_count()), of_role(timeline.links.size());
  for (const auto& [name, role] : roles) {
    std::fill(of_role.begin(), of_role.end(), 0.0);
    for (const auto& [call, runs] : role.runs) {
      std::fill(bytes.begin(), bytes.end(), 0.0);
      engine.add_bytes_of(run.calls[index(call)], bytes);
      for (std::size_t i = 0; i < of_role.size(); ++i) of_role[i] += runs * bytes[timeline.links[i].link];
    }
    for (std::size_t i = 0; i < of_role.size(); ++i) {
      trace::LinkLoad& link = timeline.links[i];
      const double possible = topology.payload_rate(static_cast<topology::LinkId>(link.link)) * longest;
      if (possible > 0) link.while_exposed = std::max(link.while_exposed, of_role[i] / possible);
    }
  }
}

}  // namespace busbar::step
