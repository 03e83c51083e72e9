// Algorithms of MSCCL: XML in and out. Source of the format: Microsoft msccl-tools and msccl, docs and examples.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/collectives/execution_plan.h"
#include "busbar/formats/imported.h"

namespace busbar {

struct MscclAlgorithm {
  ExecutionPlan plan;                          ///< in place where the file says that it may be
  std::string protocol = "Simple";             ///< "LL", "LL128", "Simple"
  bool in_place = false, out_of_place = true;  ///< what the file says it is for
  std::uint64_t min_bytes = 0, max_bytes = 0;  ///< sizes it is meant for; max 0: no limit
  std::vector<std::uint32_t> input, output;    ///< chunks of these as the file declares them, per rank
  /// Per step the receive that must have freed a slot of its connection before it can send; kNoStep: none. Of a file.
  std::vector<std::uint32_t> slot_freed_by{};
  static constexpr std::uint32_t kNoStep = 0xffff'ffffu;
  std::vector<std::string> notes;
  std::vector<UnknownPart> unknown;
};

/// Errors name the line: a step that does not exist, a receive without its send, buffers that are not there, a
/// collective of kind "custom", of which nobody knows what it shall do.
Result<MscclAlgorithm> read_msccl_xml(std::string_view text, const std::string& name);

/// Proves it in every mode that the file says it is for, and that no rank waits for ever for a slot of a connection,
/// of which there are eight.
Result<PlanProof> prove(const MscclAlgorithm& algorithm);

/// Text that read_msccl_xml() reads back as the same steps. kUnsupported for steps that MSCCL has no type for.
Result<std::string> write_msccl_xml(const MscclAlgorithm& algorithm);

/// A schedule of ours for that, for use in place where that works. As plan_of().
Result<MscclAlgorithm> msccl_of(const Schedule& schedule, PlanLanes lanes = {});

}  // namespace busbar
