#include "busbar/nccl/kept_graphs.h"

namespace busbar::nccl {

NcclGraphs KeptGraphs::of(const NcclSystem& system, const NcclSettings& settings) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Search& s : known_)
      if (s.system == system && s.settings == settings) return s.graphs;
  }
  NcclGraphs graphs = search_nccl_graphs(system, settings);  // meanwhile others go on
  const std::lock_guard<std::mutex> lock(mutex_);
  ++searches_;
  if (known_.size() == most_) known_.pop_front();
  known_.push_back({system, settings, graphs});
  return graphs;
}

std::size_t KeptGraphs::searches() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return searches_;
}

}  // namespace busbar::nccl
