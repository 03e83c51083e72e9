// Graphs of the machines that were searched before: a search takes up to 50 ms, and a fault that is hidden from NCCL,
// or a slower link between GPUs and memory, leaves what NCCL sees as it is.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>

#include "busbar/nccl/graph.h"

namespace busbar::nccl {

/// For several threads. Keeps the last `most` searches.
class KeptGraphs {
 public:
  explicit KeptGraphs(std::size_t most = 32) : most_(most) {}

  /// search_nccl_graphs() of an equal system with equal settings.
  NcclGraphs of(const NcclSystem& system, const NcclSettings& settings);
  std::size_t searches() const;  ///< that were made

 private:
  struct Search {
    NcclSystem system;
    NcclSettings settings;
    NcclGraphs graphs;
  };

  const std::size_t most_;
  mutable std::mutex mutex_;  ///< of what follows
  std::size_t searches_ = 0;
  std::deque<Search> known_;
};

}  // namespace busbar::nccl
