#include "busbar/lowering/internal/twins.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace busbar::lowering {
namespace {

bool is_switch(topology::DeviceKind k) {
  return k == topology::DeviceKind::kNvSwitch || k == topology::DeviceKind::kSwitch;
}

}  // namespace

Twins::Twins(const topology::Topology& topology, std::span<const topology::DeviceId> gpus) : links_(gpus.size()) {
  using Joint = std::tuple<topology::DeviceId, std::uint16_t, std::uint16_t>;
  std::map<std::vector<Joint>, std::size_t> known;
  for (std::uint32_t m = 0; m < gpus.size(); ++m) {
    const auto joint = [&](topology::LinkId l) {
      return Joint{topology.to(l), topology.link_class_index(l), topology.link_class_index(topology::reverse(l))};
    };
    for (const topology::LinkId l : topology.out_links(gpus[m]))
      if (topology::is_scale_up(topology.link_class(l).kind) && is_switch(topology.kind(topology.to(l))))
        links_[m].push_back(l);
    std::stable_sort(links_[m].begin(), links_[m].end(),
                     [&](topology::LinkId a, topology::LinkId b) { return joint(a) < joint(b); });
    std::vector<Joint> joints;
    for (const topology::LinkId l : links_[m]) joints.push_back(joint(l));
    const auto [entry, fresh] = known.try_emplace(std::move(joints), classes_.size());
    if (fresh) classes_.emplace_back();
    classes_[entry->second].members.push_back(m);
  }
}

std::optional<std::size_t> Twins::place(std::uint32_t m, topology::LinkId out) const {
  const auto at = std::find(links_[m].begin(), links_[m].end(), out);
  if (at == links_[m].end()) return std::nullopt;
  return static_cast<std::size_t>(at - links_[m].begin());
}

}  // namespace busbar::lowering
