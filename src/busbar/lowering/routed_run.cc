#include "busbar/lowering/internal/routed_run.h"

namespace busbar::lowering {

void OpenRun::begin_call(std::uint32_t ranks, std::uint32_t reducers) {
  connection_of.assign(ranks + reducers, 0);
  sent.assign(ranks, 0.0);
}

void OpenRun::clear_routes() {
  path.clear();
  connections.clear();
  equal = 1;
  followed = {};
}

double OpenRun::most_bytes() const {
  double most = 0;
  for (const Connection& c : connections) most = std::max(most, c.bytes);
  return most;
}

double OpenRun::busiest_bytes(bool stepwise) {
  double most = 0;
  for (const Connection& c : connections) {
    const bool summed = stepwise && c.from != Connection::kHub;
    most = std::max(most, summed ? sent[c.from] += c.bytes : c.bytes);
  }
  for (const Connection& c : connections)
    if (c.from != Connection::kHub) sent[c.from] = 0;
  return most;
}

RoutedRun OpenRun::take() {
  RoutedRun out;
  out.path.swap(path);
  out.connections.swap(connections);
  path.reserve(out.path.size());  // the next run is mostly as long
  connections.reserve(out.connections.size());
  out.loads = loads.take();
  return out;
}

}  // namespace busbar::lowering
