#include "busbar/engine/memory_limit.h"

namespace busbar {

BytesPerSecond memory_limit(const Topology& t, DeviceId gpu) {
  constexpr double kMostPerByte = 3;
  const BytesPerSecond rate = t.device_class(gpu).memory_rate;
  double links = 0;
  for (const LinkId l : t.out_links(gpu)) links += t.payload_rate(l);
  return static_cast<double>(per_second(rate)) < kMostPerByte * links ? rate : BytesPerSecond{0};
}

}  // namespace busbar
