// What the planners and builders of the kinds of fabric share; for fabric*.cc alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/topology/fabric.h"

namespace busbar {

constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

/// An ideal switch has as many ports as anybody wants.
inline std::uint64_t ports(const SwitchSpec& s) { return s.ports == 0 ? UINT32_MAX : s.ports; }

/// Fabrics of more than that are refused: beyond any hall, and some gigabytes of memory.
constexpr std::uint64_t kMostSwitches = 1u << 22, kMostCables = 1u << 24;

/// Ports are shared out in this many parts: whatever number up to 8 a port is split into, its parts are whole.
constexpr std::uint64_t kPort = 840;
/// What a cable takes of a port that has at least its rate: all of it, unless the port splits.
std::uint64_t part_of_port(const SwitchSpec& s, const LinkClass& cable);
/// Cables that go into what `taken` parts leave of a switch's ports.
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

}  // namespace busbar
