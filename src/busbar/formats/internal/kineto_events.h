// The events of a Kineto trace, one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <string>

#include "busbar/formats/comm_trace.h"

namespace busbar::formats {

/// The fields of an event that we use.
struct KinetoEvent {
  std::string category, name, collective, type, group, members;
  double start_us = 0, duration_us = 0;
  std::uint64_t in_elements = 0, out_elements = 0, group_size = 0, channels = 0;
  std::uint64_t input_elements = 0;  ///< product of the first entry of "Input Dims"
  std::string input_type;
  bool is_kernel() const { return category == "kernel"; }
};

/// What a trace says outside its events. Zero and empty mean: not in the trace.
struct KinetoHead {
  std::string version;
  std::uint32_t rank = 0, world_size = 0;
};

/// Calls `each` with every event, in the order of the file; memory holds one event. Errors name the byte.
Result<KinetoHead> read_kineto_events(std::istream& in, const std::string& name,
                                      const std::function<void(const KinetoEvent&)>& each);

/// Whether the event is a kernel of NCCL or RCCL.
bool is_nccl_kernel(const KinetoEvent& event);
/// What an event of NCCL says about its collective. A type that is not known is added to `unknown`.
TracedCollective collective_of(const KinetoEvent& event, std::vector<UnknownPart>& unknown);

}  // namespace busbar::formats
