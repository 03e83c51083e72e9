#include "busbar/topology/tree_view.h"

#include <fmt/core.h>

#include <map>

#include "busbar/base/quantity.h"

namespace busbar::topology {
namespace {

bool makes_parent(LinkKind k) { return k == LinkKind::kPcie || k == LinkKind::kHost || k == LinkKind::kC2c; }

class TreeBuilder {
 public:
  TreeBuilder(const Topology& t, const Block& block)
      : t_(t), block_(block), up_(block.device_count, kNone<LinkId>), owned_(block.device_count) {}

  std::vector<TreeLine> build() {
    std::vector<DeviceId> roots;
    collect(DeviceKind::kCpu, roots);
    own(roots);
    collect(DeviceKind::kPcieSwitch, roots);
    own(roots);
    for (std::uint32_t p = 0; p < block_.device_count; ++p)
      if (!owned_[p]) roots.push_back(device(p));
    for (const DeviceId r : roots) write(r, 0);
    return std::move(lines_);
  }

 private:
  DeviceId device(std::uint32_t p) const { return static_cast<DeviceId>(block_.first_device + p); }
  std::uint32_t place(DeviceId d) const { return index(d) - block_.first_device; }
  bool inside(DeviceId d) const { return place(d) < block_.device_count; }

  /// Makes roots of the devices of that kind without an owner.
  void collect(DeviceKind kind, std::vector<DeviceId>& roots) {
    for (std::uint32_t p = 0; p < block_.device_count; ++p) {
      if (owned_[p] || t_.kind(device(p)) != kind) continue;
      owned_[p] = true;
      roots.push_back(device(p));
    }
  }
  /// Breadth first, so each device goes to the nearest root.
  void own(std::vector<DeviceId> open) {
    for (std::size_t i = 0; i < open.size(); ++i) {
      for (const LinkId l : t_.out_links(open[i])) {
        const DeviceId d = t_.to(l);
        if (!inside(d) || !makes_parent(t_.link_class(l).kind) || owned_[place(d)]) continue;
        owned_[place(d)] = true;
        up_[place(d)] = reverse(l);
        open.push_back(d);
      }
    }
  }
  void write(DeviceId d, std::uint32_t depth) {
    lines_.push_back({depth, d, up_[place(d)], extra(d)});
    for (const LinkId l : t_.out_links(d)) {
      const DeviceId child = t_.to(l);
      if (inside(child) && up_[place(child)] == reverse(l)) write(child, depth + 1);
    }
  }
  /// Links that the tree does not show: scale-up and socket links, by kind.
  std::string extra(DeviceId d) const {
    struct Sum {
      double rate = 0;
      std::uint32_t lanes = 0;
    };
    std::map<LinkKind, Sum> sums;
    for (const LinkId l : t_.out_links(d)) {
      const LinkClass& c = t_.link_class(l);
      if (!inside(t_.to(l)) || (makes_parent(c.kind) && (up_[place(t_.to(l))] == reverse(l) || up_[place(d)] == l)))
        continue;
      sums[c.kind].rate += static_cast<double>(per_second(c.floor_rate()));
      sums[c.kind].lanes += c.lanes;
    }
    std::string out;
    for (const auto& [kind, sum] : sums)
      out += fmt::format("{}{} {} {}, {}", out.empty() ? "" : "; ", sum.lanes, name_of(kind),
                         sum.lanes == 1 ? "lane" : "lanes", format_rate(sum.rate));
    return out;
  }

  const Topology& t_;
  const Block& block_;
  std::vector<LinkId> up_;
  std::vector<bool> owned_;
  std::vector<TreeLine> lines_;
};

}  // namespace

std::vector<TreeLine> block_tree(const Topology& t, BlockId block) {
  return TreeBuilder(t, t.blocks()[index(block)]).build();
}

}  // namespace busbar::topology
