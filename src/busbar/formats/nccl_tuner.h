// Picks for NCCL's and RCCL's example tuner plugin (NCCL_TUNER_CONFIG_FILE), as CSV. Source of the format: NVIDIA nccl,
// ext-tuner/example/README.md (2.27).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/collectives/schedule.h"
#include "busbar/formats/imported.h"

namespace busbar::formats {

/// A line of the file. Numbers of -1 leave the choice to NCCL, or apply to any number of nodes or ranks.
struct TunerPick {
  collectives::Collective op{};
  std::uint64_t min_bytes = 0, max_bytes = 0;  ///< both inclusive
  std::string algorithm, protocol;             ///< "nvls_tree", "ll128"; empty: NCCL's choice
  std::int64_t channels = -1, nodes = -1, ranks = -1;
  int line = 0;
};

struct TunerPicks {
  std::string file;
  std::vector<TunerPick> picks;  ///< in the order of the file: the first that applies counts
  std::vector<UnknownPart> unknown;
};

/// "allreduce"; null: the tuner has no such collective.
const char* tuner_name(collectives::Collective op);

bool looks_like_nccl_tuner(std::string_view head);

/// Lines of "collective,min bytes,max bytes,algorithm,protocol,channels,nodes,ranks"; two more fields, pipelined
/// operations and registered buffers, are listed as unknown unless they are -1. Errors name the line.
Result<TunerPicks> read_nccl_tuner(std::string_view text, const std::string& name);

/// The first line that applies; null: NCCL chooses.
const TunerPick* pick_for(const TunerPicks& picks, collectives::Collective op, std::uint64_t bytes, std::size_t nodes,
                          std::uint32_t ranks);

}  // namespace busbar::formats
