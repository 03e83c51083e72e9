#include "busbar/nccl/internal/hosts.h"

#include <algorithm>
#include <set>

namespace busbar::nccl {
namespace {

bool is_cpu(const topology::Topology& t, topology::DeviceId d) { return t.kind(d) == topology::DeviceKind::kCpu; }

/// Links between GPUs, and between GPUs and switches, join machines of a rack; all others stay in a machine.
bool stays_inside(const topology::Topology& t, topology::LinkId l) {
  const topology::LinkKind kind = t.link_class(l).kind;
  if (topology::is_fabric(kind)) return false;
  return topology::is_in_server(kind) || kind == topology::LinkKind::kC2c || is_cpu(t, t.from(l)) || is_cpu(t, t.to(l));
}

/// Walks over the links inside machines.
class Machines {
 public:
  Machines(const topology::Topology& t, const topology::Block& block)
      : t_(t), block_(block), reached_(block.device_count, false) {}

  void add(topology::DeviceId d) {
    if (reached_[index(d) - block_.first_device]) return;
    reached_[index(d) - block_.first_device] = true;
    out_.push_back(d);
  }
  /// A device whose links are dead still has its NUMA node.
  void add_numa(std::int16_t numa) {
    if (numa < 0 || !numas_.insert(numa).second) return;
    for (std::uint32_t p = 0; p < block_.device_count; ++p)
      if (const auto d = static_cast<topology::DeviceId>(block_.first_device + p); t_.numa(d) == numa) add(d);
  }
  std::vector<topology::DeviceId> all() {
    for (std::size_t i = 0; i < out_.size(); ++i) {
      add_numa(t_.numa(out_[i]));
      for (const topology::LinkId l : t_.out_links(out_[i]))
        if (stays_inside(t_, l)) add(t_.to(l));
    }
    std::sort(out_.begin(), out_.end());
    return std::move(out_);
  }

 private:
  const topology::Topology& t_;
  const topology::Block& block_;
  std::vector<bool> reached_;
  std::set<std::int16_t> numas_;
  std::vector<topology::DeviceId> out_;
};

}  // namespace

bool is_several_machines(const topology::Topology& t, const topology::Block& block) {
  std::vector<topology::DeviceId> cpus, joined;
  for (std::uint32_t p = 0; p < block.device_count; ++p)
    if (const auto d = static_cast<topology::DeviceId>(block.first_device + p); is_cpu(t, d)) cpus.push_back(d);
  if (cpus.size() < 2) return false;
  joined.push_back(cpus.front());
  for (std::size_t i = 0; i < joined.size(); ++i)
    for (const topology::LinkId l : t.out_links(joined[i]))
      if (is_cpu(t, t.to(l)) && std::find(joined.begin(), joined.end(), t.to(l)) == joined.end())
        joined.push_back(t.to(l));
  return joined.size() < cpus.size();
}

std::vector<topology::DeviceId> devices_of_machines(const topology::Topology& t,
                                                    std::span<const topology::DeviceId> gpus) {
  Machines machines(t, t.blocks()[index(t.block_of(gpus.front()))]);
  for (const topology::DeviceId g : gpus) machines.add(g);
  return machines.all();
}

}  // namespace busbar::nccl
