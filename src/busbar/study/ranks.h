// A sweep over processes: one manager hands out cells one by one, and workers ask for them. If a worker stops
// answering, another one gets its cell.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/study/peers.h"
#include "busbar/study/study_store.h"

namespace busbar::study {

struct HandedOut {
  std::uint64_t repeated = 0;  ///< cells of lost workers that ran again
  std::vector<int> lost;       ///< ranks, in order of their loss
};

/// On rank 0: until each of `cells` is in `store`, or `go_on(done, total)` is false. Workers whose file has another
/// text than `study_text` are an error, as is the loss of all. At the end every living worker is told to leave.
Result<HandedOut> hand_out(Peers& peers, const std::string& study_text, const std::vector<std::uint64_t>& cells,
                           StudyStore& store, const std::function<bool(std::size_t, std::size_t)>& go_on);

/// On the other ranks: runs cells until the manager says that there are none, or is silent.
Status serve(Peers& peers, const std::string& study_text, const std::function<StudyRow(std::uint64_t)>& run);

}  // namespace busbar::study
