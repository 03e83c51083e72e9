// A topology file of NCCL from bytes to a machine: refused with a message, or sealed and consistent.
#include "busbar/base/check.h"
#include "busbar/formats/nccl_topo_xml_reader.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace busbar;
  const auto machine = formats::read_nccl_topo_xml({reinterpret_cast<const char*>(data), size}, "input.xml");
  if (!machine.ok()) {
    BUSBAR_CHECK(!machine.error().message.empty());
    return 0;
  }
  const topology::Topology& t = machine->topology;
  for (std::uint32_t i = 0; i < t.link_count(); ++i) {
    const auto l = static_cast<topology::LinkId>(i);
    BUSBAR_CHECK(index(t.from(l)) < t.device_count() && t.from(l) != t.to(l)) << t.name(l);
    BUSBAR_CHECK(t.payload_rate(l) > 0) << t.name(l);
  }
  BUSBAR_CHECK(machine->devices.size() == t.blocks()[0].device_count);
  for (const formats::ImportedPort& p : machine->ports)
    BUSBAR_CHECK(t.kind(p.nic) == topology::DeviceKind::kNic) << p.name;
  return 0;
}
