// Which fluids of a stage share links, and which of these sets are equal (DESIGN 4.4).
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "busbar/base/id.h"
#include "busbar/base/shortcuts.h"
#include "busbar/lowering/lowering.h"

namespace busbar::lowering {

/// Fills Stage::members, components and kinds. Work space is kept; one per lowering.
class ComponentSplitter {
 public:
  using RateOf = std::function<double(routing::CapacityId)>;  ///< bytes per ps
  explicit ComponentSplitter(Shortcuts shortcuts) : shortcuts_(std::move(shortcuts)) {}
  /// `capacities`: of all that Stage::on may name.
  void resize(const routing::CapacityCounts& capacities) { owner_ = {capacities, kNone32}; }
  void split(Stage& stage, const RateOf& rate_of);

 private:
  std::uint64_t likeness(const Stage& stage, const Component& c, const RateOf& rate_of);
  routing::PerCapacity<std::uint32_t> owner_;  ///< the fluid that crosses it, or its local name while sets are compared
  Shortcuts shortcuts_;
};

}  // namespace busbar::lowering
