// busbar_after_load: processor time of training steps after files are read and machines are built, in one process.
//
// Excluded: start-up, YAML, building the machine's graph and writing JSON. Included: routing, lowering, choosing
// algorithms, the program, its simulation, that of one replica, and the breakdown. Each step is predicted from scratch.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "busbar/step/train_run.h"

namespace {

struct Case {
  const char* name;
  const char* scenario;
  const char* routing;  ///< empty: the cluster's
  double target_ms;     ///< 0: none
};

constexpr Case kCases[] = {
    {"main-job", "examples/llama3-70b-512xh100.yaml", "", 0},
    {"main-job-pp4", "examples/llama3-70b-512xh100-pp4.yaml", "", 0},
    {"train-gpt3-1024", "examples/gpt3-175b-1024xa100.yaml", "", 10},
    {"train-405b-adaptive", "bench/cases/llama-405b-1f1b.yaml", "adaptive", 50},
    {"train-405b-static", "bench/cases/llama-405b-1f1b.yaml", "static", 5000},
    {"train-gpt3-12288", "bench/cases/gpt3-12288.yaml", "", 1000},
    {"deepseek-v3-2048", "bench/cases/deepseek-v3-2048.yaml", "", 100},
};

double cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

struct Measured {
  double load_ms = 0, step_ms = 0, with_replica_ms = 0, step_s = 0;
};

busbar::Result<Measured> measure(const Case& c, int runs) {
  busbar::spec::Overrides overrides;
  if (*c.routing != 0) overrides.set.push_back(fmt::format("cluster.routing={}", c.routing));
  const busbar::spec::Catalog catalog(overrides.catalog);
  BUSBAR_ASSIGN(busbar::spec::Scenario scenario, busbar::spec::load_scenario(c.scenario, {}, overrides, catalog));
  busbar::step::TrainAsk ask;
  ask.timeline = false;
  Measured m;
  std::vector<double> alone, both;
  for (int i = 0; i < runs; ++i)
    for (const bool replica : {false, true}) {
      ask.scaling = replica;
      const double begin = cpu_ms();
      BUSBAR_ASSIGN(busbar::step::TrainRun run, busbar::step::load_train(scenario, ask));
      const double loaded = cpu_ms();
      BUSBAR_RETURN_IF_ERROR(busbar::step::predict_train(run, ask));
      (replica ? both : alone).push_back(cpu_ms() - loaded);
      m.load_ms = loaded - begin;
      m.step_s = run.step.step_time.in_s();
    }
  std::sort(alone.begin(), alone.end());
  std::sort(both.begin(), both.end());
  m.step_ms = alone[alone.size() / 2];
  m.with_replica_ms = both[both.size() / 2];
  return m;
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  const std::string only = argc > 2 ? argv[2] : "";
  fmt::print("{:<20} {:>9} {:>9} {:>16} {:>10} {:>12}\n", "case", "load ms", "step ms", "and replica ms", "target ms",
             "step time s");
  for (const Case& c : kCases) {
    if (!only.empty() && only != c.name) continue;
    const busbar::Result<Measured> m = measure(c, runs);
    if (!m.ok()) {
      std::fprintf(stderr, "%s\n", m.error().text().c_str());
      return 2;
    }
    fmt::print("{:<20} {:>9.2f} {:>9.2f} {:>16.2f} {:>10} {:>12.6f}\n", c.name, m->load_ms, m->step_ms,
               m->with_replica_ms, c.target_ms > 0 ? fmt::format("{:g}", c.target_ms) : "", m->step_s);
  }
  return 0;
}
