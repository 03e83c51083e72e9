// Finds cables by the names of their devices, for many selectors on one machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/topology/selector.h"

namespace busbar::topology {

/// Gives the same answers as select_cables. A selector without globs that names one or two devices costs the cables of
/// one device, not a pass over the machine. Keeps references: names and cables of `topology` must not change, faults
/// may.
class CableIndex {
 public:
  explicit CableIndex(const Topology& topology);
  Result<std::vector<LinkId>> select(std::string_view selector) const;

 private:
  std::optional<DeviceId> local(std::uint32_t block, std::string_view name) const;
  std::optional<std::uint32_t> block(std::string_view name) const;
  std::optional<DeviceId> device(std::string_view name) const;
  bool is_local(std::string_view name) const;

  const Topology& topology_;
  std::vector<std::unordered_map<std::string_view, std::uint32_t>> places_;  ///< per template; only looked up
  std::unordered_map<std::string, DeviceId> switches_;                       ///< of the fabric; only looked up
  Csr<LinkId> cables_;                                                       ///< per device, ascending
};

/// degrade_cables and fail_cables with an index of the builder's devices.
Status degrade_cables(TopologyBuilder& builder, const CableIndex& index, std::string_view selector, double factor);
Status fail_cables(TopologyBuilder& builder, const CableIndex& index, std::string_view selector);

}  // namespace busbar::topology
