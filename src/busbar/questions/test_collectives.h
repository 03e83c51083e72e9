// Answers that several tests ask for.
#pragma once

#include <string>
#include <variant>

#include "busbar/questions/collective_question.h"

namespace busbar::questions {

/// An all-reduce of one size ("4M").
inline CollectiveResult all_reduce_answer(const std::string& cluster, const std::string& algorithm,
                                          const std::string& size) {
  CollectiveRequest q;
  q.cluster = cluster;
  q.collective = "all_reduce";
  q.min_bytes = q.max_bytes = size;
  q.algorithm = algorithm;
  return std::get<CollectiveResult>(answer(q).value());
}

}  // namespace busbar::questions
