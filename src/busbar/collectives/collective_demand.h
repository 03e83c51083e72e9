// What a collective starts from and what it demands at the end, chunk by chunk: what every proof is measured by.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/collectives/schedule.h"

namespace busbar {

class CollectiveDemand {
 public:
  /// Reads collective, ranks, root, chunks, pairs and layouts; phases are not looked at.
  explicit CollectiveDemand(const Schedule& schedule);

  bool has_input(std::uint32_t actor, std::uint32_t chunk) const;
  bool has_output(std::uint32_t actor, std::uint32_t chunk) const;
  /// Whether the output chunk must hold the input of `rank`. Precondition: somebody has_output(chunk).
  bool demands(std::uint32_t rank, std::uint32_t chunk) const { return has_input(rank, chunk); }

 private:
  std::uint32_t owner(std::uint32_t chunk) const;
  void number_pairs();
  std::uint32_t sender(std::uint32_t chunk) const;

  Schedule schedule_;                                      ///< without phases and families
  std::vector<std::uint32_t> source_of_, destination_of_;  ///< of an all-to-all's chunk
};

}  // namespace busbar
