// Algorithms of MSCCL: XML in and out. Source of the format: Microsoft msccl-tools and msccl, docs and examples.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/collectives/execution_plan.h"
#include "busbar/formats/imported.h"

namespace busbar::formats {

struct MscclAlgorithm {
  collectives::ExecutionPlan plan;             ///< in place if the file allows it
  std::string protocol = "Simple";             ///< "LL", "LL128", "Simple"
  bool in_place = false, out_of_place = true;  ///< the modes that the file allows
  std::uint64_t min_bytes = 0, max_bytes = 0;  ///< intended sizes; max 0: no limit
  std::uint32_t loops = 0;                     ///< parts of max_bytes that run one after another; 0: not stated
  std::vector<std::uint32_t> input, output;    ///< number of chunks that the file declares, per rank
  /// Only from a file. Per step, the receive that frees the slot it needs before it can send; kNoStep: none.
  std::vector<std::uint32_t> slot_freed_by{};
  static constexpr std::uint32_t kNoStep = 0xffff'ffffu;
  std::vector<std::string> notes;
  std::vector<UnknownPart> unknown;
};

/// Errors name the line: a step that does not exist, a receive without its send, a missing buffer, or a collective of
/// kind "custom", whose demand is unknown.
Result<MscclAlgorithm> read_msccl_xml(std::string_view text, const std::string& name);

/// Proves the plan in every mode that the file allows, and that no rank waits forever for one of the eight slots of a
/// connection.
Result<collectives::PlanProof> prove(const MscclAlgorithm& algorithm);

/// Text that read_msccl_xml() reads back as the same steps. kUnsupported for steps without a type in MSCCL.
Result<std::string> write_msccl_xml(const MscclAlgorithm& algorithm);

/// The MSCCL form of one of our schedules, in place if that works. See plan_of().
Result<MscclAlgorithm> msccl_of(const collectives::Schedule& schedule, collectives::PlanLanes lanes = {});

}  // namespace busbar::formats
