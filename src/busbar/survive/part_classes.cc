#include "busbar/survive/part_classes.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "busbar/base/random.h"

namespace busbar::survive {
namespace {

using Colour = std::uint64_t;

std::size_t different(std::vector<Colour> colours) {
  std::sort(colours.begin(), colours.end());
  return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
}

/// Equal for devices that no finite look around tells apart. Numbers of nodes and places in them do not count.
std::vector<Colour> refined(const topology::Topology& t, std::span<const std::uint32_t> of_gpus) {
  std::vector<Colour> colour(t.device_count());
  for (std::uint32_t i = 0; i < t.device_count(); ++i)
    colour[i] = mix64(static_cast<Colour>(t.kind(topology::DeviceId{i})));
  for (std::size_t r = 0; r < of_gpus.size(); ++r) {
    Colour& c = colour[index(t.gpus()[r])];
    c = mix64(c ^ of_gpus[r]);
  }
  for (std::size_t before = 0, now = different(colour); now > before;) {
    std::vector<Colour> next(colour.size());
    for (std::uint32_t i = 0; i < t.device_count(); ++i) {
      next[i] = mix64(colour[i]);
      for (const topology::LinkId l :
           t.out_links(topology::DeviceId{i}))  // a sum: the order of neighbours does not count
        next[i] += mix64(colour[index(t.to(l))] ^ mix64(t.link_class_index(l)));
    }
    colour = std::move(next);
    before = now;
    now = different(colour);
  }
  return colour;
}

bool is_switch(topology::DeviceKind k) { return k >= topology::DeviceKind::kLeaf; }

class ClassMaker {
 public:
  ClassMaker(const topology::Topology& t, std::span<const std::uint32_t> of_gpus)
      : t_(t), colour_(refined(t, of_gpus)) {}

  std::vector<PartClass> make() {
    for (std::uint32_t i = 0; i < t_.device_count(); ++i) add_device(topology::DeviceId{i});
    add_rails();
    for (std::uint32_t i = 0; i < t_.link_count(); i += 2) add_link(topology::LinkId{i});
    name_members();
    return std::move(out_);
  }

 private:
  bool in_fabric(topology::DeviceId d) const {
    const auto links = t_.out_links(d);
    return std::any_of(links.begin(), links.end(),
                       [&](topology::LinkId l) { return topology::is_fabric(t_.link_class(l).kind); });
  }

  bool has_nics(topology::DeviceId d) const {
    const auto links = t_.out_links(d);
    return std::any_of(links.begin(), links.end(),
                       [&](topology::LinkId l) { return t_.block_of(t_.to(l)) != kNone<topology::BlockId>; });
  }

  /// Counts a part in its class, whose names are made at the end by `name`.
  void count(std::pair<Colour, Colour> key, PartClass kind, std::function<std::string()> name) {
    const auto [at, first] = places_.emplace(key, out_.size());
    if (first) {
      out_.push_back(std::move(kind));
      names_.emplace_back();
    }
    names_[at->second].push_back(std::move(name));
  }

  void name_members() {
    for (std::size_t c = 0; c < out_.size(); ++c) {
      const std::size_t n = names_[c].size();
      out_[c].alike = n;
      for (const std::size_t i : std::set<std::size_t>{0, n / 2, n - 1}) out_[c].selectors.push_back(names_[c][i]());
    }
  }

  void add_device(topology::DeviceId d) {
    const topology::DeviceKind kind = t_.kind(d);
    const bool nic = kind == topology::DeviceKind::kNic && in_fabric(d);
    const bool above = is_switch(kind) && !has_nics(d);
    if (!nic && kind != topology::DeviceKind::kGpu && kind != topology::DeviceKind::kNvSwitch && !is_switch(kind))
      return;
    count({colour_[index(d)], 0},
          {.what = topology::name_of(kind), .selectors = {}, .ends_job = !above, .network = nic || is_switch(kind)},
          [this, d] { return t_.name(d); });
  }

  /// "nic3" of "node5.nic3".
  std::string local_name(topology::DeviceId d) const {
    const std::string name = t_.name(d);
    return name.substr(name.find('.') + 1);
  }

  void add_rails() {
    if (t_.blocks().size() < 2 || t_.templates().size() != 1) return;
    const topology::Block& b = t_.blocks().front();
    for (std::uint32_t i = 0; i < b.device_count; ++i) {
      const topology::DeviceId d{b.first_device + i};
      if (t_.kind(d) != topology::DeviceKind::kNic || !in_fabric(d)) continue;
      count({colour_[index(d)], 1}, {.what = "rail", .selectors = {}}, [this, d] { return "node*." + local_name(d); });
    }
  }

  void add_link(topology::LinkId l) {
    const topology::DeviceId a = t_.from(l), b = t_.to(l);
    const topology::LinkKind kind = t_.link_class(l).kind;
    const bool between = is_switch(t_.kind(a)) && is_switch(t_.kind(b));
    const bool of_gpu = !topology::is_fabric(kind) &&
                        (t_.kind(a) == topology::DeviceKind::kGpu || t_.kind(b) == topology::DeviceKind::kGpu);
    if (t_.failed(l) || (!between && !of_gpu)) return;
    if (!ends_.emplace(std::min(a, b), std::max(a, b)).second) return;  // parallel cables have one name
    const auto [low, high] = std::minmax(colour_[index(a)], colour_[index(b)]);
    count({mix64(low) ^ t_.link_class_index(l), high},
          {link_name(kind, a, b), {}, 0, of_gpu, !of_gpu, between || topology::is_scale_up(kind)},
          [this, a, b, of_gpu] { return t_.name(a) + '-' + (of_gpu ? local_name(b) : t_.name(b)); });
  }

  std::string link_name(topology::LinkKind kind, topology::DeviceId a, topology::DeviceId b) const {
    const auto [low, high] = std::minmax({t_.kind(a), t_.kind(b)});
    return fmt::format("{} {}-{}", topology::is_fabric(kind) ? "cable" : topology::name_of(kind),
                       topology::name_of(low), topology::name_of(high));
  }

  const topology::Topology& t_;
  std::vector<Colour> colour_;
  std::vector<PartClass> out_;
  std::vector<std::vector<std::function<std::string()>>> names_;  ///< of the members of each class
  std::map<std::pair<Colour, Colour>, std::size_t> places_;
  std::set<std::pair<topology::DeviceId, topology::DeviceId>> ends_;
};

}  // namespace

std::vector<PartClass> part_classes(const topology::Topology& topology, std::span<const std::uint32_t> colours) {
  return ClassMaker(topology, colours).make();
}

}  // namespace busbar::survive
