// Which fluids of a stage share links, and which of these sets are alike (DESIGN 4.4).
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "busbar/base/shortcuts.h"
#include "busbar/engine/lowering.h"

namespace busbar {

/// Fills Stage::members, components and kinds. Work space is kept; one per lowering.
class ComponentSplitter {
 public:
  using RateOf = std::function<double(LinkId)>;  ///< bytes per ps
  explicit ComponentSplitter(Shortcuts shortcuts) : shortcuts_(std::move(shortcuts)) {}
  /// `links` is one more than the largest number in Stage::link.
  void resize(std::size_t links) { owner_.assign(links, kNobody); }
  void split(Stage& stage, const RateOf& rate_of);

 private:
  static constexpr std::uint32_t kNobody = 0xffff'ffffu;
  std::uint64_t likeness(const Stage& stage, const Component& c, const RateOf& rate_of);
  std::vector<std::uint32_t> owner_;  ///< link -> fluid that crosses it, or its name while likeness is sought
  Shortcuts shortcuts_;
};

}  // namespace busbar
