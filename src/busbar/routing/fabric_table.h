// Hops between the switches outside all blocks, towards one switch at a time, computed only as far as requested.
//
// Twins are switches with the same neighbours (the leaves of a pod, the cores above the same spines). They are equally
// far from every other switch and two hops apart, so distances are kept between classes of twins. A lost cable splits
// one.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/topology/topology.h"

namespace busbar::routing {

/// A row grows ring by ring around its switch until it reaches the switch asked for. So a query between neighbours in a
/// pod does not pay for the whole fabric.
class FabricTable {
 public:
  static constexpr std::uint8_t kFar = 255;

  explicit FabricTable(const topology::Topology& topology);
  struct Hop {
    std::uint32_t to;  ///< fabric number
    topology::LinkId link;
  };
  /// Number of a fabric switch (its place in Topology::fabric_switches()), or -1.
  std::int32_t number(topology::DeviceId d) const;
  /// Switches that NICs may be attached to, ascending: all except spines and cores.
  std::span<const std::uint32_t> leaves() const { return leaves_; }
  std::span<const Hop> hops(std::uint32_t from) const { return hops_.row(from); }
  /// Whether some leaves are joined directly, as in a dragonfly or a torus.
  bool flat() const { return flat_; }
  /// Appends the links from `from` to switches that are `left` hops from `to`, in the order of hops(from).
  /// Precondition: distance(from, to) has been called and returned left + 1.
  void links_towards(std::uint32_t from, std::uint32_t to, int left, std::vector<topology::LinkId>& out) const;
  /// Whether live cables join the two switches, over switches alone.
  bool joined(std::uint32_t a, std::uint32_t b) const { return island_[a] == island_[b]; }
  /// The lowest switch joined to `s`.
  std::uint32_t island(std::uint32_t s) const { return island_[s]; }
  /// Hops from `from` to `to`, kFar if there is no path. If there is one, nearer(to, x) holds afterwards for all x
  /// nearer to `to` than `from`. Not safe for concurrent calls.
  std::uint8_t distance(std::uint32_t from, std::uint32_t to);
  /// The same without growing the row: kFar for switches beyond the part computed so far.
  std::uint8_t nearer(std::uint32_t to, std::uint32_t from) const {
    const std::uint32_t a = class_[from], b = class_[to];
    if (a == b) return from == to ? 0 : kBetweenTwins;
    return rows_[b].hops.empty() ? kFar : rows_[b].hops[a];
  }

 private:
  static constexpr std::uint8_t kBetweenTwins = 2;
  struct Row {
    std::vector<std::uint8_t> hops;         ///< per class
    std::vector<std::uint32_t> ring, next;  ///< the last classes reached
    std::uint8_t radius = 0;
  };
  void find_islands();
  void find_twins();
  std::vector<std::int32_t> number_;  ///< per device from first_ on
  std::uint32_t first_ = 0;
  Csr<Hop> hops_;
  std::vector<std::uint32_t> hop_class_;  ///< parallel to hops_.values: the class of Hop::to
  std::vector<std::uint32_t> leaves_;
  bool flat_ = false;
  std::vector<std::uint32_t> island_;  ///< per switch: the lowest switch joined to it
  std::vector<std::uint32_t> class_;   ///< per switch
  Csr<std::uint32_t> steps_;           ///< per class: the classes one hop away
  std::vector<Row> rows_;              ///< per class
};

}  // namespace busbar::routing
