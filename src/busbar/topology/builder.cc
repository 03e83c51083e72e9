#include <algorithm>
#include <cmath>

#include "busbar/base/grouped.h"
#include "busbar/topology/topology.h"

namespace busbar::topology {
namespace {

/// The place of `value` in `table`; appends it if it is new. Tables have a few dozen entries.
template <typename T>
std::uint16_t intern_in(std::vector<T>& table, const T& value) {
  const auto it = std::find(table.begin(), table.end(), value);
  if (it != table.end()) return static_cast<std::uint16_t>(it - table.begin());
  BUSBAR_CHECK(table.size() < 0xffff) << "too many device or link classes";
  table.push_back(value);
  return static_cast<std::uint16_t>(table.size() - 1);
}

}  // namespace

TopologyBuilder::TopologyBuilder(Topology sealed) : t_(std::move(sealed)) {
  for (const Block& b : t_.blocks_) shapes_ = std::max(shapes_, index(b.shape) + 1);
}

std::uint16_t TopologyBuilder::intern(const DeviceClass& c) { return intern_in(t_.device_classes_, c); }

std::uint16_t TopologyBuilder::intern(const LinkClass& c) {
  const std::uint16_t id = intern_in(t_.link_classes_, c);
  if (id == t_.payload_rate_.size()) t_.payload_rate_.push_back(static_cast<double>(per_second(c.payload_rate())));
  return id;
}

std::uint32_t TopologyBuilder::add_template(NodeTemplate node) {
  std::vector<std::uint16_t> device_classes, link_classes;
  for (const TemplateDevice& d : node.devices) device_classes.push_back(intern(d.device_class));
  for (const TemplateLink& l : node.links) link_classes.push_back(intern(l.link_class));
  template_device_classes_.push_back(std::move(device_classes));
  template_link_classes_.push_back(std::move(link_classes));
  shape_of_template_.push_back(shapes_++);
  t_.templates_.push_back(std::move(node));
  return static_cast<std::uint32_t>(t_.templates_.size() - 1);
}

BlockId TopologyBuilder::add_block(std::uint32_t template_index) {
  BUSBAR_CHECK(template_index < shape_of_template_.size()) << "a template of a sealed topology";
  const NodeTemplate& node = t_.templates_[template_index];
  const auto id = static_cast<BlockId>(t_.blocks_.size());
  Block block;
  block.shape = static_cast<ShapeId>(shape_of_template_[template_index]);
  block.template_index = template_index;
  block.first_device = t_.device_count();
  block.device_count = static_cast<std::uint32_t>(node.devices.size());
  block.first_link = t_.link_count();
  block.link_count = static_cast<std::uint32_t>(2 * node.links.size());
  const auto& classes = template_device_classes_[template_index];
  t_.device_class_.insert(t_.device_class_.end(), classes.begin(), classes.end());
  t_.device_block_.insert(t_.device_block_.end(), node.devices.size(), id);
  for (std::uint32_t i = 0; i < node.devices.size(); ++i)
    if (node.devices[i].device_class.kind == DeviceKind::kGpu)
      t_.gpus_.push_back(static_cast<DeviceId>(block.first_device + i));
  for (std::size_t i = 0; i < node.links.size(); ++i) {
    t_.link_from_.push_back(static_cast<DeviceId>(block.first_device + node.links[i].a));
    t_.link_from_.push_back(static_cast<DeviceId>(block.first_device + node.links[i].b));
    t_.link_class_.insert(t_.link_class_.end(), 2, template_link_classes_[template_index][i]);
  }
  t_.blocks_.push_back(block);
  return id;
}

DeviceId TopologyBuilder::add_switch(DeviceClass device_class, std::string name) {
  const auto id = static_cast<DeviceId>(t_.device_count());
  t_.device_class_.push_back(intern(device_class));
  t_.device_block_.push_back(kNone<BlockId>);
  t_.fabric_index_.emplace(index(id), static_cast<std::uint32_t>(t_.fabric_.size()));
  t_.fabric_.push_back(id);
  t_.fabric_names_.push_back(std::move(name));
  return id;
}

DeviceId TopologyBuilder::device(BlockId block, std::uint32_t place) const {
  return static_cast<DeviceId>(t_.blocks_[index(block)].first_device + place);
}

LinkId TopologyBuilder::connect(DeviceId a, DeviceId b, const LinkClass& link_class) {
  const auto id = static_cast<LinkId>(t_.link_count());
  t_.link_from_.push_back(a);
  t_.link_from_.push_back(b);
  t_.link_class_.insert(t_.link_class_.end(), 2, intern(link_class));
  return id;
}

LinkClassId TopologyBuilder::add_link_class(LinkClass c) {
  BUSBAR_CHECK(t_.link_classes_.size() < 0xffff) << "too many link classes";
  t_.payload_rate_.push_back(static_cast<double>(per_second(c.payload_rate())));
  t_.link_classes_.push_back(std::move(c));
  return static_cast<LinkClassId>(t_.link_classes_.size() - 1);
}

void TopologyBuilder::relabel(LinkId link, LinkClassId link_class) {
  BUSBAR_DCHECK(t_.block_of(t_.from(link)) != t_.block_of(t_.to(link)) || t_.block_of(t_.from(link)) == kNone<BlockId>)
      << "a link of a template";
  t_.link_class_[index(link)] = t_.link_class_[index(reverse(link))] = index(link_class);
}

void TopologyBuilder::reclass(LinkId link, double health) {
  LinkClass c = t_.link_class(link);
  c.health *= health;
  if (std::abs(c.health - 1) < 1e-12) c.health = 1;  // repaired: as built, to the bit
  const std::uint16_t id = intern(c);
  t_.link_class_[index(link)] = id;
  t_.link_class_[index(reverse(link))] = id;
}

void TopologyBuilder::set_gpu_memory_rate(BytesPerSecond rate) {
  const auto set = [&](DeviceClass& c) {
    if (c.kind == DeviceKind::kGpu) c.memory_rate = rate;
  };
  for (DeviceClass& c : t_.device_classes_) set(c);
  for (NodeTemplate& node : t_.templates_)
    for (TemplateDevice& d : node.devices) set(d.device_class);
}

void TopologyBuilder::degrade(LinkId link, double factor) {
  degrade({link}, factor, t_.name(t_.from(link)) + "-" + t_.name(t_.to(link)));
}

void TopologyBuilder::degrade(std::vector<LinkId> links, double factor, std::string name) {
  BUSBAR_CHECK(factor > 0 && factor < 1) << "degrade factor " << factor;
  for (const LinkId l : links) reclass(l, factor);
  t_.damage_.push_back({std::move(name), factor, std::move(links)});
}

void TopologyBuilder::repair(const Damage& damage) {
  for (const LinkId l : damage.links) reclass(l, 1 / damage.left);
  std::erase_if(t_.damage_, [&](const Damage& d) { return d.name == damage.name && d.links == damage.links; });
}

void TopologyBuilder::fail(LinkId link) {
  reclass(link, 0.0);
  const BlockId b = t_.block_of(t_.from(link));
  if (b == kNone<BlockId>) return;
  Block& block = t_.blocks_[index(b)];
  const std::uint32_t l = index(link);
  if (l >= block.first_link && l < block.first_link + block.link_count) block.shape = static_cast<ShapeId>(shapes_++);
}

Topology TopologyBuilder::seal() && {
  t_.out_ = grouped<LinkId>(t_.device_count(), [&](auto&& add) {
    for (std::uint32_t l = 0; l < t_.link_count(); ++l)
      if (!t_.failed(static_cast<LinkId>(l))) add(index(t_.link_from_[l]), static_cast<LinkId>(l));
  });
  return std::move(t_);
}

}  // namespace busbar::topology
