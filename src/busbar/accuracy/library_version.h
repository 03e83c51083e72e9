// The NCCL release of a measured row, from its column library_version.
#pragma once

#include <string>
#include <string_view>

#include "busbar/nccl/version.h"

namespace busbar::accuracy {

struct LibraryVersion {
  nccl::NcclVersion rules;  ///< the rules that predict the row
  bool stated = false;
  std::string words;  ///< "NCCL 2.27", "NCCL 2.30, none is stated", "NCCL 2.18, the oldest known, for 2.9"
};

/// Reads "NCCL 2.27.7 (doc default)", "NCCL 2.18-2.19 era" (the first), "NCCL (23102 headers)" as nccl-tests prints it.
/// Versions of other software ("nccl-tests 2.17.6"), years and "NCCL 2.2x" give no release: the newest rules apply.
/// Releases before and after the known ones count as the oldest and the newest of these.
LibraryVersion library_version(std::string_view text);

}  // namespace busbar::accuracy
