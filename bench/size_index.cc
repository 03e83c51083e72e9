// Closed-form times of one all-reduce for any size, from an index: what making it costs, and what a question costs.
//   busbar_size_index [CLUSTER FILE...]   default: bench/cases/ar-a-65536.yaml, ar-b-65536.yaml
#include "busbar/engine/size_index.h"

#include <fmt/core.h>

#include <cmath>
#include <ctime>
#include <string>
#include <vector>

#include "busbar/base/random.h"
#include "busbar/routing/placement.h"
#include "busbar/routing/router.h"
#include "busbar/spec/cluster.h"

namespace {

using namespace busbar;

double cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

bool measure(const std::string& file, const char* algorithm) {
  const Result<Cluster> cluster = load_cluster(file);
  if (!cluster.ok()) {
    fmt::print(stderr, "{}\n", cluster.error().text());
    return false;
  }
  const Router router(cluster->topology, cluster->routing, cluster->seed);
  const Placement placement(router, cluster->topology.gpus());
  Lowering lowering(router, placement, cluster->protocol);
  CollectiveCall call;
  call.op = Collective::kAllReduce;
  call.groups = one_group(placement.ranks());
  call.algorithm = algorithm;
  const double start = cpu_s();
  const Result<SizeIndex> index = SizeIndex::make(lowering, call, Bytes{1}, Bytes{std::uint64_t{64} << 30});
  if (!index.ok()) {
    fmt::print(stderr, "{}\n", index.error().text());
    return false;
  }
  const double made = cpu_s();
  constexpr int kQuestions = 1'000'000;
  RandomStream random(1, "sizes");
  double sum = 0;
  for (int i = 0; i < kQuestions; ++i) sum += index->time_ps(static_cast<Bytes>(std::exp2(random.uniform() * 36)));
  const double asked = cpu_s();
  fmt::print("{} {}: {} GPUs, index of {} lowerings {:.2f} s, {:.3f} us a question (mean answer {:.2f} ms)\n", file,
             algorithm, placement.ranks(), index->lowerings(), made - start, (asked - made) / kQuestions * 1e6,
             sum / kQuestions / 1e9);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files(argv + 1, argv + argc);
  if (files.empty()) files = {"bench/cases/ar-a-65536.yaml", "bench/cases/ar-b-65536.yaml"};
  bool good = true;
  for (const std::string& f : files)
    good = measure(f, f.find("ar-b") != std::string::npos ? "hierarchical" : "ring") && good;
  return good ? 0 : 2;
}
