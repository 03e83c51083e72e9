// A path, a collective, a training step and its fastest layout on a server, computed with the installed library.
#include <busbar/busbar.h>

#include <cstdio>

#include "busbar/predict/predictor.h"
#include "busbar/spec/scenario.h"
#include "busbar/step/train_run.h"

namespace {

/// Of the first GPU to the last one of eight.
busbar::Result<double> wire_GBps(const std::string& server) {
  busbar::questions::PathRequest request;
  request.cluster = server;
  request.a = "gpu0", request.b = "gpu7";
  BUSBAR_ASSIGN(const busbar::questions::PathResult path, busbar::questions::answer(request));
  return *path.wire_GBps;
}

busbar::Result<double> all_reduce_us(const std::string& server) {
  BUSBAR_ASSIGN(busbar::spec::Cluster cluster, busbar::spec::load_cluster(server));
  BUSBAR_ASSIGN(const auto machine, busbar::predict::Predictor::make(std::move(cluster), {}));
  const auto call = busbar::predict::call_over(busbar::collectives::Collective::kAllReduce, busbar::Bytes{1u << 30}, machine->ranks());
  BUSBAR_ASSIGN(const busbar::predict::Prediction prediction, machine->time(call));
  return 1e6 * prediction.time.in_s();
}

busbar::Result<double> step_s(const std::string& server) {
  busbar::spec::ScenarioFlags flags;
  flags.cluster = server;
  flags.model = "llama3-8b";
  flags.degrees.global_batch = 64;
  BUSBAR_ASSIGN(busbar::spec::Scenario scenario, busbar::spec::scenario_from_flags(flags, {}, busbar::spec::Catalog()));
  BUSBAR_ASSIGN(const busbar::step::Prediction step, busbar::step::predict(std::move(scenario), {}));
  return step.step.step_time.in_s();
}

/// Asked by the name of the question, and with JSON.
busbar::Result<double> planned_step_s(const std::string& server) {
  const busbar::Json request{{"cluster", server}, {"model", "llama3-8b"}, {"global_batch", 64}};
  BUSBAR_ASSIGN(const busbar::questions::Answer answer,
                busbar::questions::ask(*busbar::questions::find_question("plan"), request));
  return answer.json()["best"]["step_time_s"].number();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string server = argc > 1 ? argv[1] : "dgx-h100";
  const struct {
    const char* format;
    busbar::Result<double> value;
  } lines[] = {{"gpu0 to gpu7: %.0f GB/s on the wire\n", wire_GBps(server)},
               {"all_reduce of 1 GiB: %.0f us\n", all_reduce_us(server)},
               {"step of llama3-8b: %.2f s\n", step_s(server)},
               {"in the fastest layout: %.2f s\n", planned_step_s(server)}};
  for (const auto& line : lines) {
    if (!line.value.ok()) return std::fprintf(stderr, "%s\n", line.value.error().text().c_str()), 2;
    std::printf(line.format, *line.value);
  }
}
