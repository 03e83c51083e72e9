// The sealed machine graph.
//
// Invariants:
//  1. Links come in pairs: 2k and 2k+1 are the two directions of one cable; reverse(l) == l ^ 1.
//  2. A block (one server, rack or pod of the scale-up sort) owns a contiguous run of devices; the links inside it are
//     a contiguous run too. Blocks with equal shape() are wired alike device for device, so tables made for one of
//     them serve all (DESIGN 4.4). A failed link gives its block a shape of its own; a degraded one does not.
//  3. Device, link and GPU numbers depend only on the description, never on insertion accidents.
//  4. A failed link keeps its id and class record (health 0) but is in nobody's out_links().
// Immutable after Builder::seal(), so any number of threads may read it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/base/result.h"
#include "busbar/topology/link.h"

namespace busbar {

enum class BlockId : std::uint32_t {};
enum class ShapeId : std::uint32_t {};

/// Generation of a processor, for programs that choose by it; empty arch: not known.
struct ProcessorIdentity {
  std::string arch, vendor;   ///< "x86_64", "GenuineIntel"
  int family = 0, model = 0;  ///< of x86, as the makers count: AMD Zen 2 is family 23
  bool operator==(const ProcessorIdentity&) const = default;
};

/// What devices of one product have in common.
struct DeviceClass {
  DeviceKind kind = DeviceKind::kGpu;
  std::string part;  ///< catalogue name: "h100-sxm"
  Bytes memory{0};   ///< HBM of a GPU, else 0
  BytesPerSecond memory_rate{0};
  bool reduces = false;  ///< a switch that can add up payloads (NVLS, SHARP)
  // Limits of a switch that reduces; 0: none.
  std::uint32_t reduce_trees = 0;  ///< at a time
  Bytes reduce_message{0};         ///< largest
  BytesPerSecond reduce_rate{0};   ///< of what comes in, all ports together
  BytesPerSecond transit_rate{0};  ///< of all that enters another device (root complex, host memory); 0: no limit
  int compute_capability = 0;      ///< of NVIDIA GPUs, times ten: 90; 0: not known
  bool lower_level = false;        ///< a PCIe switch that is one chip with the switch above it
  std::string architecture;        ///< of AMD GPUs: "gfx942"; else empty
  ProcessorIdentity processor;     ///< of CPUs
  bool operator==(const DeviceClass&) const = default;
};

/// One device of a node template, numbered by its place in NodeTemplate::devices.
struct TemplateDevice {
  DeviceClass device_class;
  std::string name;  ///< local name, unique in the template: "gpu3", "nvswitch0", "nic7"
  std::int16_t numa = -1;
  std::int16_t card = -1;            ///< ports of one card have the same number; -1: a card of its own
  std::uint64_t bus_id = kNoBusId;   ///< PCI: domain << 20 | bus << 12 | device << 4 | function
  static constexpr std::uint64_t kNoBusId = UINT64_MAX;  ///< not known
};
struct TemplateLink {
  std::uint32_t a = 0, b = 0;  ///< places in NodeTemplate::devices
  LinkClass link_class;        ///< the same both ways
};
/// A server (or scale-up domain) to be stamped any number of times.
struct NodeTemplate {
  std::string name;  ///< "dgx-h100"
  std::vector<TemplateDevice> devices;
  std::vector<TemplateLink> links;
};

struct Block {
  ShapeId shape{};
  std::uint32_t template_index = 0;
  std::uint32_t first_device = 0, device_count = 0;
  std::uint32_t first_link = 0, link_count = 0;  ///< directed links inside the block
};

/// Cables that were slowed together.
struct Damage {
  std::string name;           ///< as --degrade takes it: "node1.nic3"
  double left = 1;            ///< of their rates, in (0, 1)
  std::vector<LinkId> links;  ///< one direction of each
};

class Topology {
 public:
  std::uint32_t device_count() const { return static_cast<std::uint32_t>(device_class_.size()); }
  std::uint32_t link_count() const { return static_cast<std::uint32_t>(link_from_.size()); }

  DeviceKind kind(DeviceId d) const { return device_class(d).kind; }
  const DeviceClass& device_class(DeviceId d) const { return device_classes_[device_class_[index(d)]]; }
  BlockId block_of(DeviceId d) const;   ///< kNone<BlockId> for fabric switches
  std::int16_t numa(DeviceId d) const;  ///< NUMA node inside its block, -1 unknown
  /// What its template says of a device. Precondition: it lies in a block.
  const TemplateDevice& template_device(DeviceId d) const;
  std::string name(DeviceId d) const;   ///< "node5.gpu3", "leaf12"
  std::string name(LinkId l) const;     ///< "node5.gpu3->node5.nvswitch0"
  /// The device of that name; Error kNotFound with the nearest names.
  Result<DeviceId> find(std::string_view name) const;

  DeviceId from(LinkId l) const { return link_from_[index(l)]; }
  DeviceId to(LinkId l) const { return link_from_[index(l) ^ 1u]; }
  const LinkClass& link_class(LinkId l) const { return link_classes_[link_class_[index(l)]]; }
  std::uint16_t link_class_index(LinkId l) const { return link_class_[index(l)]; }
  std::span<const LinkClass> link_classes() const { return link_classes_; }
  /// Payload rate in bytes per second as the engines use it, 0 when failed.
  double payload_rate(LinkId l) const { return payload_rate_[link_class_[index(l)]]; }
  bool failed(LinkId l) const { return payload_rate(l) <= 0.0; }
  /// Live links that leave `d`, by ascending LinkId.
  std::span<const LinkId> out_links(DeviceId d) const { return out_.row(index(d)); }

  std::span<const DeviceId> gpus() const {
    return gpus_;
  }  ///< in global GPU order: rank r runs on gpus()[r] by default
  std::span<const Block> blocks() const { return blocks_; }
  std::span<const NodeTemplate> templates() const { return templates_; }
  std::span<const DeviceId> fabric_switches() const { return fabric_; }  ///< devices outside every block
  std::span<const Damage> damage() const { return damage_; }             ///< in the order in which it was done

 private:
  friend class TopologyBuilder;
  std::vector<DeviceClass> device_classes_;
  std::vector<LinkClass> link_classes_;
  std::vector<double> payload_rate_;         ///< per link class, bytes/s
  std::vector<std::uint16_t> device_class_;  ///< per device
  std::vector<BlockId> device_block_;        ///< per device
  std::vector<DeviceId> link_from_;          ///< per directed link
  std::vector<std::uint16_t> link_class_;    ///< per directed link
  Csr<LinkId> out_;                          ///< per device
  std::vector<Block> blocks_;
  std::vector<NodeTemplate> templates_;
  std::vector<DeviceId> gpus_;
  std::vector<DeviceId> fabric_;
  std::vector<Damage> damage_;
  std::vector<std::string> fabric_names_;                          ///< per fabric_ entry
  std::unordered_map<std::uint32_t, std::uint32_t> fabric_index_;  ///< device -> entry of fabric_; only looked up
};

/// Stamps blocks, adds fabric switches and cables, applies faults, then seals.
class TopologyBuilder {
 public:
  TopologyBuilder() = default;
  /// To break cables of a machine that is sealed already. No more blocks of its templates can be added.
  explicit TopologyBuilder(Topology sealed);

  /// Registers a template; returns its index.
  std::uint32_t add_template(NodeTemplate node);
  /// Stamps one more block of that template ("node<k>" with k the block's number).
  BlockId add_block(std::uint32_t template_index);
  /// A switch outside all blocks. Names are unique.
  DeviceId add_switch(DeviceClass device_class, std::string name);
  /// Device number `place` of the template, in that block.
  DeviceId device(BlockId block, std::uint32_t place) const;
  /// A cable between two devices of different blocks or of the fabric; returns the a->b direction.
  LinkId connect(DeviceId a, DeviceId b, const LinkClass& link_class);

  /// One more class, for `relabel`; classes of equal figures are not looked for.
  LinkClassId add_link_class(LinkClass link_class);
  /// Both directions of the cable are of that class from now on. Precondition: it is outside blocks.
  void relabel(LinkId link, LinkClassId link_class);
  /// The memory of every GPU has that rate from now on.
  void set_gpu_memory_rate(BytesPerSecond rate);
  /// Both directions of the cable now have rate x `factor`, 0 < factor < 1.
  void degrade(LinkId link, double factor);
  /// The same for several, which a person would repair together under that name.
  void degrade(std::vector<LinkId> links, double factor, std::string name);
  /// Both directions are gone.
  void fail(LinkId link);

  /// The state so far; names, kinds and links may be asked of it before sealing.
  const Topology& peek() const { return t_; }
  Topology seal() &&;

 private:
  std::uint16_t intern(const LinkClass& c);
  std::uint16_t intern(const DeviceClass& c);
  void reclass(LinkId link, double health);
  Topology t_;
  std::vector<std::vector<std::uint16_t>> template_device_classes_, template_link_classes_;
  std::vector<std::uint32_t> shape_of_template_;
  std::uint32_t shapes_ = 0;
};

}  // namespace busbar
