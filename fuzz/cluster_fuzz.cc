// A cluster file from bytes to a sealed topology: refused with a message, or built and consistent.
#include "busbar/base/check.h"
#include "busbar/spec/cluster.h"
#include "fuzz.h"
#include "input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace busbar;
  static fuzz::InputFile file;
  file.write(data, size);
  const auto cluster = spec::load_cluster(file.path());
  if (!cluster.ok()) {
    BUSBAR_CHECK(!cluster.error().message.empty());
    return 0;
  }
  const topology::Topology& t = cluster->topology;
  for (std::uint32_t i = 0; i < t.link_count(); ++i) {
    const auto l = static_cast<topology::LinkId>(i), back = static_cast<topology::LinkId>(i ^ 1u);
    BUSBAR_CHECK(index(t.from(l)) < t.device_count() && t.from(l) == t.to(back)) << t.name(l);
    BUSBAR_CHECK(t.payload_rate(l) >= 0) << t.name(l);
  }
  for (const topology::DeviceId gpu : t.gpus()) BUSBAR_CHECK(t.kind(gpu) == topology::DeviceKind::kGpu) << t.name(gpu);
  return 0;
}
