// Which chunks each rank has before a collective and must have after it. Every proof checks against this.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/collectives/schedule.h"

namespace busbar::collectives {

class CollectiveDemand {
 public:
  /// Reads collective, ranks, root, chunks, pairs and layouts; ignores phases.
  explicit CollectiveDemand(const Schedule& schedule);

  bool has_input(std::uint32_t actor, std::uint32_t chunk) const;
  bool has_output(std::uint32_t actor, std::uint32_t chunk) const;
  /// Whether the output chunk must hold the input of `rank`. Precondition: has_output(chunk) for some rank.
  bool demands(std::uint32_t rank, std::uint32_t chunk) const { return has_input(rank, chunk); }

 private:
  std::uint32_t owner(std::uint32_t chunk) const;
  void number_pairs();
  std::uint32_t sender(std::uint32_t chunk) const;

  Schedule schedule_;                                      ///< without phases and families
  std::vector<std::uint32_t> source_of_, destination_of_;  ///< per chunk of an all-to-all
};

}  // namespace busbar::collectives
