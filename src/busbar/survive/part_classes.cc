#include "busbar/survive/part_classes.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "busbar/base/random.h"

namespace busbar {
namespace {

using Colour = std::uint64_t;

std::size_t different(std::vector<Colour> colours) {
  std::sort(colours.begin(), colours.end());
  return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
}

/// Equal for devices that no finite look around tells apart. Numbers of nodes and places in them do not count.
std::vector<Colour> refined(const Topology& t, std::span<const std::uint32_t> of_gpus) {
  std::vector<Colour> colour(t.device_count());
  for (std::uint32_t i = 0; i < t.device_count(); ++i) colour[i] = mix64(static_cast<Colour>(t.kind(DeviceId{i})));
  for (std::size_t r = 0; r < of_gpus.size(); ++r) {
    Colour& c = colour[index(t.gpus()[r])];
    c = mix64(c ^ of_gpus[r]);
  }
  for (std::size_t before = 0, now = different(colour); now > before;) {
    std::vector<Colour> next(colour.size());
    for (std::uint32_t i = 0; i < t.device_count(); ++i) {
      next[i] = mix64(colour[i]);
      for (const LinkId l : t.out_links(DeviceId{i}))  // a sum: the order of neighbours does not count
        next[i] += mix64(colour[index(t.to(l))] ^ mix64(t.link_class_index(l)));
    }
    colour = std::move(next);
    before = now;
    now = different(colour);
  }
  return colour;
}

bool is_switch(DeviceKind k) { return k >= DeviceKind::kLeaf; }

class ClassMaker {
 public:
  ClassMaker(const Topology& t, std::span<const std::uint32_t> of_gpus) : t_(t), colour_(refined(t, of_gpus)) {}

  std::vector<PartClass> make() {
    for (std::uint32_t i = 0; i < t_.device_count(); ++i) add_device(DeviceId{i});
    add_rails();
    for (std::uint32_t i = 0; i < t_.link_count(); i += 2) add_link(LinkId{i});
    name_members();
    return std::move(out_);
  }

 private:
  bool in_fabric(DeviceId d) const {
    const auto links = t_.out_links(d);
    return std::any_of(links.begin(), links.end(), [&](LinkId l) { return is_fabric(t_.link_class(l).kind); });
  }

  bool has_nics(DeviceId d) const {
    const auto links = t_.out_links(d);
    return std::any_of(links.begin(), links.end(), [&](LinkId l) { return t_.block_of(t_.to(l)) != kNone<BlockId>; });
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

  void add_device(DeviceId d) {
    const DeviceKind kind = t_.kind(d);
    const bool nic = kind == DeviceKind::kNic && in_fabric(d);
    const bool above = is_switch(kind) && !has_nics(d);
    if (!nic && kind != DeviceKind::kGpu && kind != DeviceKind::kNvSwitch && !is_switch(kind)) return;
    count({colour_[index(d)], 0},
          {.what = name_of(kind), .selectors = {}, .ends_job = !above, .network = nic || is_switch(kind)},
          [this, d] { return t_.name(d); });
  }

  /// "nic3" of "node5.nic3".
  std::string local_name(DeviceId d) const {
    const std::string name = t_.name(d);
    return name.substr(name.find('.') + 1);
  }

  void add_rails() {
    if (t_.blocks().size() < 2 || t_.templates().size() != 1) return;
    const Block& b = t_.blocks().front();
    for (std::uint32_t i = 0; i < b.device_count; ++i) {
      const DeviceId d{b.first_device + i};
      if (t_.kind(d) != DeviceKind::kNic || !in_fabric(d)) continue;
      count({colour_[index(d)], 1}, {.what = "rail", .selectors = {}}, [this, d] { return "node*." + local_name(d); });
    }
  }

  void add_link(LinkId l) {
    const DeviceId a = t_.from(l), b = t_.to(l);
    const LinkKind kind = t_.link_class(l).kind;
    const bool between = is_switch(t_.kind(a)) && is_switch(t_.kind(b));
    const bool of_gpu = !is_fabric(kind) && (t_.kind(a) == DeviceKind::kGpu || t_.kind(b) == DeviceKind::kGpu);
    if (t_.failed(l) || (!between && !of_gpu)) return;
    if (!ends_.emplace(std::min(a, b), std::max(a, b)).second) return;  // parallel cables have one name
    const auto [low, high] = std::minmax(colour_[index(a)], colour_[index(b)]);
    count({mix64(low) ^ t_.link_class_index(l), high},
          {link_name(kind, a, b), {}, 0, of_gpu, !of_gpu, between || is_scale_up(kind)},
          [this, a, b, of_gpu] { return t_.name(a) + '-' + (of_gpu ? local_name(b) : t_.name(b)); });
  }

  std::string link_name(LinkKind kind, DeviceId a, DeviceId b) const {
    const auto [low, high] = std::minmax({t_.kind(a), t_.kind(b)});
    return fmt::format("{} {}-{}", is_fabric(kind) ? "cable" : name_of(kind), name_of(low), name_of(high));
  }

  const Topology& t_;
  std::vector<Colour> colour_;
  std::vector<PartClass> out_;
  std::vector<std::vector<std::function<std::string()>>> names_;  ///< of the members of each class
  std::map<std::pair<Colour, Colour>, std::size_t> places_;
  std::set<std::pair<DeviceId, DeviceId>> ends_;
};

}  // namespace

std::vector<PartClass> part_classes(const Topology& topology, std::span<const std::uint32_t> colours) {
  return ClassMaker(topology, colours).make();
}

}  // namespace busbar
