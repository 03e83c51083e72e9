#include "busbar/step/network_packets.h"

#include <algorithm>
#include <optional>

#include "busbar/base/cores.h"
#include "busbar/base/id.h"
#include "busbar/base/stop_flag.h"
#include "busbar/predict/packet_words.h"

namespace busbar::step {
namespace {

constexpr std::uint64_t kSeeds = 3;

Result<packet::PacketOptions> options_of(const spec::Cluster& cluster, const std::string& catalog,
                                         const PacketSetup& setup, std::uint64_t seed) {
  std::string transport = setup.transport, balance = setup.balance;
  spec::Overrides settings;
  settings.catalog = catalog;
  settings.set = setup.set;
  BUSBAR_ASSIGN(packet::PacketOptions out, predict::packet_options(transport, balance, cluster, settings));
  out.seed += seed;
  return out;
}

struct Sent {
  double seconds = 0;  ///< until the last byte of the slowest connection has arrived
  double pauses = 0;
};

/// One run of the packet engine: seed `seed` of setup `setup`; the setup after the last is the even one.
struct PacketRun {
  std::size_t sample = 0, setup = 0;
  std::uint64_t seed = 0;
};

PurposeSlowdown slowdown_of(program::OpClass purpose, std::span<const Sent> seeds, double even_s) {
  PurposeSlowdown out{purpose, 0, seeds[0].seconds / even_s, 0, 0};
  for (const Sent& sent : seeds) {
    const double times = sent.seconds / even_s;
    out.mean += times / static_cast<double>(seeds.size());
    out.least = std::min(out.least, times);
    out.most = std::max(out.most, times);
    out.pauses += sent.pauses / static_cast<double>(seeds.size());
  }
  for (double PurposeSlowdown::*f : {&PurposeSlowdown::mean, &PurposeSlowdown::least, &PurposeSlowdown::most})
    out.*f = std::max(1.0, out.*f);
  return out;
}

}  // namespace

Result<std::vector<Slowdowns>> network_slowdowns(const predict::Predictor& machine, const std::string& catalog,
                                                 std::span<const NetworkSample> samples, const PacketSetup& even,
                                                 std::span<const PacketSetup> setups) {
  std::vector<PacketRun> runs;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].crossing == 0) continue;
    runs.push_back({i, setups.size(), 0});
    for (std::size_t k = 0; k < setups.size(); ++k)
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) runs.push_back({i, k, seed});
  }
  std::vector<std::optional<Result<Sent>>> sent(runs.size());
  const auto send = [&](const PacketRun& r) -> Result<Sent> {
    const PacketSetup& setup = r.setup < setups.size() ? setups[r.setup] : even;
    if (stops(machine.policy().stop)) return interrupted();
    BUSBAR_ASSIGN(packet::PacketOptions options, options_of(machine.cluster(), catalog, setup, r.seed));
    options.stop = machine.policy().stop;
    BUSBAR_ASSIGN(const packet::PacketResult result,
                  packet::run_packet_list(machine.router(), samples[r.sample].flows, options));
    if (stops(machine.policy().stop)) return interrupted();
    return Sent{result.received.since_start().in_s(), static_cast<double>(result.pauses)};
  };
  share_out(runs.size(), std::min(kMostIdleCores, idle_cores()),
            [&](std::size_t r, std::size_t) { sent[r] = send(runs[r]); });
  for (const auto& one : sent)
    if (!one->ok()) return one->error();
  std::vector<Slowdowns> out(setups.size());
  std::size_t next = 0;
  for (const NetworkSample& sample : samples) {
    const bool any = sample.crossing > 0;
    const double even_s = any ? sent[next++]->value().seconds : 1;
    for (Slowdowns& of_setup : out) {
      std::vector<Sent> seeds(kSeeds, Sent{1, 0});
      for (Sent& s : seeds)
        if (any) s = sent[next++]->value();
      of_setup.push_back(slowdown_of(sample.purpose, seeds, even_s));
    }
  }
  return out;
}

Result<StepResult> slowed_step(const TrainRun& run, const Slowdowns& slowdowns, double PurposeSlowdown::*factor) {
  program::Program program = run.program;
  std::vector<bool> done(program.calls.size());
  for (const CallUse& use : run.step.calls) {
    program::CollectiveCall& call = program.calls[index(use.call)];
    if (done[index(use.call)] || !run.machine->several_nodes(call.groups)) continue;
    done[index(use.call)] = true;
    for (const PurposeSlowdown& s : slowdowns) {
      if (s.purpose != use.cls) continue;
      call.slowdown *= s.*factor;
      for (program::CollectiveCall& part : call.parts) part.slowdown *= s.*factor;
    }
  }
  return step_of(run, program);
}

}  // namespace busbar::step
