// NCCL's algorithms and protocols, and which of them NCCL_ALGO and NCCL_PROTO allow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "busbar/collectives/schedule.h"

namespace busbar::nccl {

enum class NcclAlgorithm : std::uint8_t {
  kTree,
  kRing,
  kCollnetDirect,
  kCollnetChain,
  kNvls,
  kNvlsTree,
  kPat,
  kPointToPoint,  ///< grouped sends and receives; the cost tables have no entry for them
};
enum class NcclProtocol : std::uint8_t { kLl, kLl128, kSimple };
inline constexpr std::size_t kNcclAlgorithms = 7, kNcclProtocols = 3;
const char* name_of(NcclAlgorithm algorithm);  ///< "Tree", "Ring", "NVLSTree", ...
const char* name_of(NcclProtocol protocol);    ///< "LL", "LL128", "Simple"

/// Our algorithm for one of NCCL's: "ring", "tree", "nvls", "hierarchical(nvls,tree)", "pat", "sharp", "direct".
const char* schedule_name(NcclAlgorithm algorithm);
/// The other way round, also for NCCL's own names in small letters ("nvlstree"). Empty for "sharp", "direct" and what
/// NCCL does not have.
std::optional<NcclAlgorithm> nccl_algorithm(std::string_view name);

/// The collectives for which NCCL has a cost table. The tables of this room are in the same order.
inline constexpr collectives::Collective kNcclTuned[] = {
    collectives::Collective::kAllReduce, collectives::Collective::kAllGather, collectives::Collective::kReduceScatter,
    collectives::Collective::kBroadcast, collectives::Collective::kReduce};
inline constexpr std::size_t kNcclCollectives = std::size(kNcclTuned);
bool is_nccl_tuned(collectives::Collective op);
std::size_t nccl_place(collectives::Collective op);  ///< index in kNcclTuned. Pre: `op` is in it

/// The algorithms and protocols that one collective may use.
struct NcclAllowed {
  std::uint8_t algorithms = 0xff;  ///< bit per NcclAlgorithm
  std::uint8_t protocols = 0xff;   ///< bit per NcclProtocol
  bool trusts_ll128 = false;       ///< the user named LL128, so it is used even where NCCL would not trust it
  bool has(NcclAlgorithm a) const { return (algorithms >> static_cast<unsigned>(a) & 1u) != 0; }
  bool has(NcclProtocol p) const { return (protocols >> static_cast<unsigned>(p) & 1u) != 0; }
  bool operator==(const NcclAllowed&) const = default;
};
using NcclAllowedAll = std::array<NcclAllowed, kNcclCollectives>;  ///< in the order of kNcclTuned

}  // namespace busbar::nccl
