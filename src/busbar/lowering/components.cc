#include "busbar/lowering/components.h"

#include <bit>
#include <unordered_map>

#include "busbar/base/disjoint_sets.h"
#include "busbar/base/random.h"

namespace busbar::lowering {

/// Union-find over the links that fluids share.
void ComponentSplitter::split(Stage& stage, const RateOf& rate_of) {
  const auto n = static_cast<std::uint32_t>(stage.fluids.size());
  DisjointSets sets(n);
  for (std::uint32_t f = 0; f < n; ++f)
    for (std::uint32_t i = stage.fluids[f].begin; i < stage.fluids[f].end; ++i) {
      std::uint32_t& o = owner_[stage.on[i]];
      if (o == kNone32) o = f;
      sets.join(o, f);
    }
  std::vector<std::uint32_t> size(n, 0), place(n, 0);
  for (std::uint32_t f = 0; f < n; ++f) ++size[sets.find(f)];
  for (std::uint32_t f = 0, at = 0; f < n; ++f)
    if (sets.find(f) == f) {
      place[f] = static_cast<std::uint32_t>(stage.components.size());
      stage.components.push_back({at, at, place[f]});
      at += size[f];
    }
  stage.members.resize(n);
  for (std::uint32_t f = 0; f < n; ++f) stage.members[stage.components[place[sets.find(f)]].end++] = f;
  for (const routing::CapacityId c : stage.on) owner_[c] = kNone32;
  std::unordered_map<std::uint64_t, std::uint32_t> first;  // looked up only, never iterated
  for (std::uint32_t c = 0; c < stage.components.size(); ++c) {
    Component& component = stage.components[c];
    if (shortcuts_.has(Shortcut::kEqualComponents) && stage.components.size() > 1)
      component.like = first.emplace(likeness(stage, component, rate_of), c).first->second;
    if (component.like == c)
      ++stage.kinds;
    else
      shortcuts_.take(Shortcut::kEqualComponents);
  }
}

/// Equal for components that are the same up to the names of their links.
std::uint64_t ComponentSplitter::likeness(const Stage& stage, const Component& c, const RateOf& rate_of) {
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  std::uint64_t h = mix64(c.end - c.begin);
  std::uint32_t names = 0;
  for (std::uint32_t m = c.begin; m < c.end; ++m) {
    const Fluid& f = stage.fluids[stage.members[m]];
    h = mix64(h ^ bits(f.bytes)) + mix64(bits(f.alone_ps)) + (f.end - f.begin);
    for (std::uint32_t i = f.begin; i < f.end; ++i) {
      std::uint32_t& name = owner_[stage.on[i]];
      if (name == kNone32) name = names++;
      h = mix64(h ^ name) + mix64(bits(stage.weight[i])) + mix64(bits(rate_of(stage.on[i])) + 1);
    }
  }
  for (std::uint32_t m = c.begin; m < c.end; ++m) {
    const Fluid& f = stage.fluids[stage.members[m]];
    for (std::uint32_t i = f.begin; i < f.end; ++i) owner_[stage.on[i]] = kNone32;
  }
  return h;
}

}  // namespace busbar::lowering
