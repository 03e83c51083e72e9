// A flow list from bytes: refused with a message, or read with every flow between devices of the machine.
#include "busbar/base/check.h"
#include "busbar/questions/flow_csv.h"
#include "busbar/spec/cluster.h"
#include "fuzz.h"
#include "input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace busbar;
  static fuzz::InputFile file;
  static const spec::Cluster cluster = spec::load_cluster("dgx-a100:2").value();
  static const routing::Router router(cluster.topology, cluster.routing, cluster.seed);
  file.write(data, size);
  const auto flows = questions::read_flow_csv(file.path(), router);
  if (!flows.ok()) {
    BUSBAR_CHECK(!flows.error().message.empty());
    return 0;
  }
  BUSBAR_CHECK(flows->ids.size() == flows->list.flows.size()) << flows->ids.size();
  for (const auto& f : flows->list.flows) {
    BUSBAR_CHECK(index(f.from) < cluster.topology.device_count()) << index(f.from);
    BUSBAR_CHECK(index(f.to) < cluster.topology.device_count()) << index(f.to);
  }
  return 0;
}
