// Which table of collectives a user should measure next: the one that narrows an answer most.
#pragma once

#include <string>
#include <vector>

#include "busbar/program/measured_calls.h"

namespace busbar::accuracy {

/// A collective call of an answer, as often as the answer waits for it.
struct WaitedCall {
  program::CallTraits call;
  double waits_s = 0;  ///< seconds of the answer that wait for it
  std::string ranks;   ///< of one of its groups, as text of parse_rank_groups()
};

/// A table of nccl-tests over the sizes of calls that wait.
struct NextTable {
  collectives::Collective op{};
  std::uint32_t ranks = 0;
  std::string group;  ///< as WaitedCall::ranks
  double low_bytes = 0, high_bytes = 0;
  double before_percent = 0, after_percent = 0;  ///< of the answer, up and down: nine tenths, from collectives alone
};

/// The tables that narrow an answer of `answer_s` seconds, the best first. Times of calls of one operation and group
/// are off together, those of different ones apart. What a table would say changes no width: only its sizes do.
std::vector<NextTable> next_tables(const std::vector<WaitedCall>& calls,
                                   const std::vector<program::MeasuredCall>& known, double answer_s);

}  // namespace busbar::accuracy
