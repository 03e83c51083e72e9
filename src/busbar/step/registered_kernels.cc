#include "busbar/step/registered_kernels.h"

#include <algorithm>
#include <array>
#include <optional>

#include "busbar/base/id.h"
#include "busbar/nccl/registered.h"

namespace busbar::step {
namespace {

/// Empty: as usual kernels.
std::optional<double> share_of(const program::CollectiveCall& call, int capability, std::uint32_t cores) {
  if (call.protocol == program::Protocol::kCopy) return 0;
  const bool by_switch = call.protocol == program::Protocol::kSymmetric && program::traits_of(call).reduces_in_network;
  if (!by_switch || cores == 0) return std::nullopt;
  return static_cast<double>(nccl::multicast_blocks(call.groups.size(), capability)) / cores;
}

}  // namespace

workload::Contention with_registered_kernels(workload::Contention contention, const program::Program& p,
                                             const topology::Topology& topology, std::uint32_t cores) {
  const int capability =
      topology.gpus().empty() ? 0 : topology.device_class(topology.gpus().front()).compute_capability;
  constexpr auto kClasses = static_cast<std::size_t>(program::OpClass::kOther) + 1;
  std::array<std::optional<double>, kClasses> most{};  // of the classes that have calls
  const auto add = [&](const program::Op& op) {
    if (op.kind != program::OpKind::kCollective) return;
    std::optional<double>& of = most[static_cast<std::size_t>(op.cls)];
    for (const program::CollectiveCall& part : program::parts_of(p.calls[index(op.call)]))
      of = std::max(of.value_or(0), share_of(part, capability, cores).value_or(1));
  };
  for (const program::Op& op : p.ops) add(op);
  for (const program::Pass& pass : p.passes)
    for (const program::Op& op : pass.ops) add(op);
  const std::pair<program::OpClass, double*> shares[] = {{program::OpClass::kTp, &contention.tp},
                                                         {program::OpClass::kDp, &contention.dp},
                                                         {program::OpClass::kPp, &contention.pp},
                                                         {program::OpClass::kCp, &contention.cp},
                                                         {program::OpClass::kEp, &contention.ep}};
  for (const auto& [cls, share] : shares) *share = std::min(*share, most[static_cast<std::size_t>(cls)].value_or(1));
  return contention;
}

}  // namespace busbar::step
