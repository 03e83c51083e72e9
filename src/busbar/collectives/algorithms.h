// The algorithms in the registry. For this room only: other rooms use builders.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "busbar/collectives/builders.h"

namespace busbar::collectives {

/// The rank counts that an algorithm takes, and their name: "a power of two"; null: all.
struct TakenRanks {
  bool (*takes)(std::uint32_t ranks) = nullptr;
  const char* name = "";
};

struct RegisteredAlgorithm {
  std::string_view name;
  std::uint32_t ops = 0;  ///< bit per Collective: set_of(...)
  Result<Schedule> (*build)(const ScheduleSpec&) = nullptr;
  AlgorithmTraits traits{};
  TakenRanks ranks{};
  bool takes(std::uint32_t n) const { return ranks.takes == nullptr || ranks.takes(n); }
};

template <class... Ops>
constexpr std::uint32_t set_of(Ops... ops) {
  return ((1u << static_cast<int>(ops)) | ...);
}

/// The full list, in the order of docs/collectives.md.
std::span<const RegisteredAlgorithm> registered_algorithms();

/// The list that build_schedule and all other functions here read: registered_algorithms(). It has its own source file,
/// so that a test program can link another list.
std::span<const RegisteredAlgorithm> algorithms();

}  // namespace busbar::collectives
