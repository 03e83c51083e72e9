// Code shared by planners and builders of the kinds of fabric; for fabric*.cc only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/topology/fabric.h"

namespace busbar::topology {

constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

/// An ideal switch has as many ports as needed.
inline std::uint64_t ports(const SwitchSpec& s) { return s.ports == 0 ? UINT32_MAX : s.ports; }

/// Larger fabrics are refused: no hall has so many, and they need some gigabytes of memory.
constexpr std::uint64_t kMostSwitches = 1u << 22, kMostCables = 1u << 24;

/// A port has so many parts. A port split into any number up to 8 then has whole parts.
constexpr std::uint64_t kPort = 840;
/// The parts that a cable takes of a port of at least its rate: all of them, unless the port splits.
std::uint64_t part_of_port(const SwitchSpec& s, const LinkClass& cable);
/// The number of cables that fit into a switch's ports when `taken` parts are in use.
std::uint64_t room_for(const SwitchSpec& s, const LinkClass& cable, std::uint64_t taken = 0);

std::string describe(const SwitchSpec& s);  ///< "QM9700 (64 ports)"
Error cannot(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics, std::string why);

/// The same with every port split: more ports, slower cables.
FabricSpec split_ports(FabricSpec spec, std::uint32_t split);
/// The fabric of one rail of a rail-only fabric.
FabricSpec one_rail(FabricSpec spec, std::uint32_t nodes);

/// Planners of one plane.
Result<FabricPlan> plan_tree(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics);
Result<FabricPlan> plan_dragonfly(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics);
Result<FabricPlan> plan_torus(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics);

/// Cables between the switches of one plane; `leaves` are those of that plane.
void cable_dragonfly(const FabricSpec& spec, const FabricPlan& plan, const std::vector<DeviceId>& leaves,
                     TopologyBuilder& builder);
void cable_torus(const FabricSpec& spec, const std::vector<DeviceId>& leaves, TopologyBuilder& builder);

}  // namespace busbar::topology
