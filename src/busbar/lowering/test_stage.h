// Stages made by hand.
#pragma once

#include <initializer_list>

#include "busbar/lowering/lowering.h"

namespace busbar::lowering {

/// Fluids by the links that they cross, all of weight 1; `alone_ps` sets their caps.
struct HandMadeStage {
  Stage stage;
  void add(double bytes, double alone_ps, std::initializer_list<std::uint32_t> links) {
    const auto begin = static_cast<std::uint32_t>(stage.on.size());
    for (const std::uint32_t l : links) stage.on.push_back(topology::LinkId{l}), stage.weight.push_back(1);
    stage.fluids.push_back({begin, static_cast<std::uint32_t>(stage.on.size()), bytes, alone_ps});
  }
};

}  // namespace busbar::lowering
