// The layouts that a machine and a model allow: values for sliders, and the layout nearest to one that cannot be.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "busbar/workload/layout.h"
#include "busbar/workload/memory.h"
#include "busbar/workload/model.h"

namespace busbar::cli {

/// Where layouts have to find a place.
struct LayoutRoom {
  const workload::ModelSpec& model;
  std::uint32_t gpus = 0;    ///< of the machine
  std::uint32_t domain = 0;  ///< GPUs of a server or rack: the largest TP that is tried
  Bytes capacity{0};         ///< memory of a GPU
};

/// Values of the fields of a page that are part of a layout, by the keys of the fields.
using LayoutValues = std::map<std::string, std::string>;
LayoutValues layout_values(const workload::LayoutSpec& layout);

/// For each degree and size: the values with which `layout` can run, all others as they are; and its own value. In
/// ascending order. Memory does not count.
std::map<std::string, std::vector<std::uint32_t>> legal_stops(const LayoutRoom& room,
                                                              const workload::LayoutSpec& layout);

/// The layout nearest to `asked` that can run, and, if `fitting` and there is one, fits in memory. Values are compared
/// by factors; `kept`, the key that a user has just moved, stays if any layout has it, and the global batch almost
/// always does. `asked` itself, if it can run. A layout with nothing resolved; dp is open.
workload::LayoutSpec nearest_layout(const LayoutRoom& room, const workload::LayoutSpec& asked, bool fitting,
                                    const std::string& kept = "");

/// Whether the layout can run, and whether it also fits.
bool can_run(const LayoutRoom& room, const workload::LayoutSpec& layout);
bool fits(const LayoutRoom& room, const workload::LayoutSpec& layout);

}  // namespace busbar::cli
