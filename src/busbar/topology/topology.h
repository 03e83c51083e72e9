// The sealed machine graph.
//
// Invariants:
//  1. Links come in pairs: 2k and 2k+1 are the two directions of one cable; reverse(l) == l ^ 1.
//  2. A block (one server, or one rack or pod that is a scale-up domain) has consecutive device numbers, and the links
//     inside it have consecutive numbers too. Blocks with equal shape() are wired alike, device by device, so tables
//     made for one serve all (DESIGN 4.4). A failed link gives its block a shape of its own; a degraded link does not.
//  3. Device, link and GPU numbers depend only on the description, not on the order of insertion.
//  4. A failed link keeps its id and class record (health 0) but is in no out_links().
//
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

namespace busbar::topology {

enum class BlockId : std::uint32_t {};
enum class ShapeId : std::uint32_t {};

/// Generation of a processor, for programs that choose by it. Empty arch: not known.
struct ProcessorIdentity {
  std::string arch, vendor;   ///< "x86_64", "GenuineIntel"
  int family = 0, model = 0;  ///< of x86, in the makers' numbering: AMD Zen 2 is family 23
  bool operator==(const ProcessorIdentity&) const = default;
};

/// The common properties of devices of one product.
struct DeviceClass {
  DeviceKind kind = DeviceKind::kGpu;
  std::string part;  ///< catalogue name: "h100-sxm"
  Bytes memory{0};   ///< of a GPU, otherwise 0
  BytesPerSecond memory_rate{0};
  std::string memory_kind{};  ///< of a GPU: "HBM", "GDDR6X"; empty: not known
  bool reduces = false;       ///< a switch that can add payloads (NVLS, SHARP)
  // Limits of a switch that reduces; 0: none.
  std::uint32_t reduce_trees = 0;  ///< at a time
  Bytes reduce_message{0};         ///< largest
  BytesPerSecond reduce_rate{0};   ///< of the input of all ports together
  BytesPerSecond transit_rate{0};  ///< of all that enters another device (root complex, host memory); 0: no limit
  int compute_capability = 0;      ///< of NVIDIA GPUs, times ten: 90; 0: not known
  bool lower_level = false;        ///< a PCIe switch that is one chip with the switch above it
  std::string architecture;        ///< of AMD GPUs: "gfx942"; otherwise empty
  ProcessorIdentity processor;     ///< of CPUs
  bool operator==(const DeviceClass&) const = default;
};

/// One device of a node template; its number is its place in NodeTemplate::devices.
struct TemplateDevice {
  DeviceClass device_class;
  std::string name;  ///< local name, unique in the template: "gpu3", "nvswitch0", "nic7"
  std::int16_t numa = -1;
  std::int16_t card = -1;           ///< ports of one card have the same number; -1: a separate card
  std::uint64_t bus_id = kNoBusId;  ///< PCI: domain << 20 | bus << 12 | device << 4 | function
  static constexpr std::uint64_t kNoBusId = UINT64_MAX;  ///< not known
};
struct TemplateLink {
  std::uint32_t a = 0, b = 0;  ///< places in NodeTemplate::devices
  LinkClass link_class;        ///< the same in both directions
};
/// A server (or scale-up domain) that can be added any number of times.
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
  double left = 1;            ///< remaining share of their rates, in (0, 1)
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
  /// A device as its template gives it. Precondition: it is in a block.
  const TemplateDevice& template_device(DeviceId d) const;
  std::string name(DeviceId d) const;  ///< "node5.gpu3", "leaf12"
  std::string name(LinkId l) const;    ///< "node5.gpu3->node5.nvswitch0"
  /// The device with that name. Error kNotFound with the nearest names.
  Result<DeviceId> find(std::string_view name) const;

  DeviceId from(LinkId l) const { return link_from_[index(l)]; }
  DeviceId to(LinkId l) const { return link_from_[index(l) ^ 1u]; }
  const LinkClass& link_class(LinkId l) const { return link_classes_[link_class_[index(l)]]; }
  std::uint16_t link_class_index(LinkId l) const { return link_class_[index(l)]; }
  std::span<const LinkClass> link_classes() const { return link_classes_; }
  /// Payload rate in bytes per second, as the engines use it; 0 if failed.
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

/// Adds blocks, fabric switches and cables, applies faults, then seals.
class TopologyBuilder {
 public:
  TopologyBuilder() = default;
  /// Opens a sealed machine again to break its cables. No more blocks of its templates can be added.
  explicit TopologyBuilder(Topology sealed);

  /// Registers a template; returns its index.
  std::uint32_t add_template(NodeTemplate node);
  /// Adds one more block of that template ("node<k>", k the block's number).
  BlockId add_block(std::uint32_t template_index);
  /// Adds a switch outside all blocks. Names must be unique.
  DeviceId add_switch(DeviceClass device_class, std::string name);
  /// The device number `place` of the template, in that block.
  DeviceId device(BlockId block, std::uint32_t place) const;
  /// Adds a cable between two devices of different blocks or of the fabric. Returns the a->b direction.
  LinkId connect(DeviceId a, DeviceId b, const LinkClass& link_class);

  /// Adds a class, for `relabel`; does not look for a class with equal figures.
  LinkClassId add_link_class(LinkClass link_class);
  /// Sets the class of both directions of a cable. Precondition: the cable is outside blocks.
  void relabel(LinkId link, LinkClassId link_class);
  /// Sets the memory rate of every GPU.
  void set_gpu_memory_rate(BytesPerSecond rate);
  /// Sets both directions of the cable to rate x `factor`, in (0, 1).
  void degrade(LinkId link, double factor);
  /// The same for several cables, which are one Damage of that name.
  void degrade(std::vector<LinkId> links, double factor, std::string name);
  /// Undoes a damage of this machine.
  void repair(const Damage& damage);
  /// Removes both directions.
  void fail(LinkId link);

  /// The state so far: names, kinds and links may be read before sealing.
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

}  // namespace busbar::topology
