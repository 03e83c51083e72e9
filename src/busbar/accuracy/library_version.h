// Which release of NCCL a measured row ran, from what its column library_version says.
#pragma once

#include <string>
#include <string_view>

#include "busbar/nccl/version.h"

namespace busbar {

struct LibraryVersion {
  NcclVersion rules;  ///< whose rules predict the row
  bool stated = false;
  std::string words;  ///< "NCCL 2.27", "NCCL 2.30, none is stated", "NCCL 2.18, the oldest known, for 2.9"
};

/// "NCCL 2.27.7 (doc default)", "NCCL 2.18-2.19 era" (the first), "NCCL (23102 headers)" as nccl-tests prints it. Other
/// software's versions ("nccl-tests 2.17.6"), years and "NCCL 2.2x" say nothing: then the newest rules are taken.
/// Releases before and after those whose rules are known count as the oldest and the newest of these.
LibraryVersion library_version(std::string_view text);

}  // namespace busbar
