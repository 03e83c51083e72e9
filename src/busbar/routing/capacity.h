// What traffic can fill: a directed link, a device as a whole, or a bundle of cables that traffic loads alike.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/id.h"
#include "busbar/routing/link_share.h"

namespace busbar::routing {

enum class CapacityKind : std::uint8_t { kLink, kDevice, kBundle };

/// Order: links, then devices, then bundles, each by number.
class CapacityId {
 public:
  constexpr CapacityId() = default;  ///< names nothing
  constexpr CapacityId(topology::LinkId link)
      : CapacityId(CapacityKind::kLink, index(link)) {}  // NOLINT: a link is a capacity
  static constexpr CapacityId limit_of(topology::DeviceId device) { return {CapacityKind::kDevice, index(device)}; }
  static constexpr CapacityId bundle(std::uint32_t number) { return {CapacityKind::kBundle, number}; }

  constexpr CapacityKind kind() const { return static_cast<CapacityKind>(value_ >> kBits); }
  constexpr bool is_link() const { return kind() == CapacityKind::kLink; }
  constexpr bool is_device() const { return kind() == CapacityKind::kDevice; }
  constexpr bool is_bundle() const { return kind() == CapacityKind::kBundle; }
  /// Within its kind: of the link, the device or the bundle.
  constexpr std::uint32_t number() const { return value_ & ((1u << kBits) - 1); }
  constexpr topology::LinkId link() const {
    return static_cast<topology::LinkId>(value_);
  }  ///< precondition: is_link(), or names nothing
  constexpr topology::DeviceId device() const {
    return static_cast<topology::DeviceId>(number());
  }  ///< precondition: is_device()
  constexpr auto operator<=>(const CapacityId&) const = default;

 private:
  static constexpr std::uint32_t kBits = 30;
  constexpr CapacityId(CapacityKind kind, std::uint32_t number)
      : value_(static_cast<std::uint32_t>(kind) << kBits | number) {}
  std::uint32_t value_ = kNone32;
};

/// A capacity, and the part of a connection that crosses it.
struct CapacityShare {
  CapacityId on;
  double share;  ///< part of the connection's bytes that cross it
};

inline topology::LinkId link_of(const LinkShare& s) { return s.link; }
inline topology::LinkId link_of(const CapacityShare& s) { return s.on.link(); }

/// How many capacities of each kind there are. Gives each a place in arrays.
struct CapacityCounts {
  std::uint32_t links = 0, devices = 0, bundles = 0;
  std::uint32_t size() const { return links + devices + bundles; }
  /// Below size(), in the order of CapacityId.
  std::uint32_t place(CapacityId c) const {
    if (c.is_link()) return c.number();
    return links + (c.is_bundle() ? devices : 0) + c.number();
  }
};

/// A value for every capacity.
template <typename T>
class PerCapacity {
 public:
  PerCapacity() = default;
  PerCapacity(const CapacityCounts& counts, T value) : counts_(counts), values_(counts.size(), value) {}
  T& operator[](CapacityId c) { return values_[counts_.place(c)]; }
  const T& operator[](CapacityId c) const { return values_[counts_.place(c)]; }
  bool empty() const { return values_.empty(); }
  void add(const PerCapacity& other) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
  }
  void fill(T value) { values_.assign(values_.size(), value); }

 private:
  CapacityCounts counts_;
  std::vector<T> values_;
};

}  // namespace busbar::routing
