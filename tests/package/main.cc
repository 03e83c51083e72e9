// The rate between two GPUs of a server, computed with the installed library.
#include <cstdio>

#include "busbar/routing/path_view.h"
#include "busbar/spec/cluster.h"

int main(int argc, char** argv) {
  const auto cluster = busbar::load_cluster(argc > 1 ? argv[1] : "dgx-h100");
  if (!cluster.ok()) {
    std::fprintf(stderr, "%s\n", cluster.error().text().c_str());
    return 2;
  }
  const auto gpus = cluster->topology.gpus();
  const busbar::Router router(cluster->topology, cluster->routing, cluster->seed);
  const auto path = busbar::view_path(router, gpus.front(), gpus.back());
  if (!path.ok()) return 2;
  std::printf("%zu GPUs, %.0f GB/s on the wire\n", gpus.size(), path->wire_GBps);
}
