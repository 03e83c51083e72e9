#include "busbar/plan/call_floors.h"

#include <gtest/gtest.h>

#include "busbar/spec/catalog.h"
#include "busbar/spec/cluster.h"

namespace busbar::plan {
namespace {

struct Straddling {
  double bound = 0, time = 0;  ///< seconds
};

/// An all-to-all in groups of `n` neighbouring GPUs that fill the first two servers or racks of a machine.
Straddling exchange(predict::Predictor& machine, CallFloors& floors, std::uint32_t n) {
  program::CollectiveCall call;
  call.op = collectives::Collective::kAllToAll;
  call.bytes = Bytes{64'000'000};
  call.algorithm = "auto";
  call.groups.inner = {{.extent = n, .actor_stride = 1}};
  call.groups.outer = {{.extent = machine.ranks() / n, .actor_stride = n}};
  return {floors.of(call).in_s(), machine.time(call).value().time.in_s()};
}

TEST(CallFloors, OfGroupsThatStraddleServersAreBelowTheirTimesOnAllMachines) {
  int checked = 0;
  const spec::Catalog catalog;
  for (const std::string& name : catalog.names("nodes")) {
    Result<spec::Cluster> cluster = spec::load_cluster(name + ":2");
    if (!cluster.ok() || cluster->topology.gpus().size() > 144) continue;
    Result<std::unique_ptr<predict::Predictor>> machine = predict::Predictor::make(std::move(*cluster), {});
    if (!machine.ok() || (*machine)->ranks() < 6) continue;
    CallFloors floors(**machine);
    for (const std::uint32_t n : {3u, 5u, 16u, 32u}) {
      if (n > (*machine)->ranks()) continue;
      const Straddling e = exchange(**machine, floors, n);
      EXPECT_LE(e.bound, e.time * (1 + 1e-9)) << name << " groups of " << n;
      ++checked;
    }
  }
  EXPECT_GT(checked, 100);
}

// Of 32 GPUs, 8 are in the first rack: what comes to them crosses their NICs.
TEST(CallFloors, KnowThatNetworkPortsOfTheFewestMembersFeedAGroup) {
  const std::unique_ptr<predict::Predictor> machine =
      predict::Predictor::make(spec::load_cluster("gb200-nvl72:2").value(), {}).value();
  CallFloors floors(*machine);
  const Straddling e = exchange(*machine, floors, 32);
  EXPECT_GT(e.bound, 0.9 * e.time);
}

}  // namespace
}  // namespace busbar::plan
