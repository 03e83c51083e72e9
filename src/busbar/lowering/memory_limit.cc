#include "busbar/lowering/memory_limit.h"

namespace busbar::lowering {

BytesPerSecond memory_limit(const topology::Topology& t, topology::DeviceId gpu, const Shortcuts& shortcuts) {
  constexpr double kMostPerByte = 3;
  const BytesPerSecond rate = t.device_class(gpu).memory_rate;
  double links = 0;
  for (const topology::LinkId l : t.out_links(gpu)) links += t.payload_rate(l);
  if (static_cast<double>(per_second(rate)) < kMostPerByte * links) return rate;
  return shortcuts.take(Shortcut::kFastMemory) ? BytesPerSecond{0} : rate;
}

}  // namespace busbar::lowering
