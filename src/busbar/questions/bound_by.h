// What bounds an answer, in every result: DESIGN 5.
#pragma once

#include <optional>
#include <string>

#include "busbar/base/record.h"
#include "busbar/engine/engine.h"
#include "busbar/topology/topology.h"

namespace busbar::questions {

/// All empty: nothing was sent.
struct BoundBy {
  std::optional<std::string> link, part, phase, kind;
  std::optional<std::string> cause{};  ///< of a bound that is not a link
};
const Record& record_of(const BoundBy*);
BoundBy bound_result(const lowering::Bound& bound, const topology::Topology& topology);

/// "ndr 4x": the part of a link, or its kind.
std::string part_of(const topology::Topology& topology, topology::LinkId link);
/// The usual name of a link in words: "NVLink", "InfiniBand".
std::string brand_of(const topology::LinkClass& link);

}  // namespace busbar::questions
