#include "busbar/questions/compare_packets.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "busbar/step/network_packets.h"

namespace busbar::questions {
namespace {

/// Packets that take all paths alike and wait for nothing but their links: what fluids assume.
step::PacketSetup even_setup() { return {"nscc", "spray", {}}; }

/// With all causes, and then without one after another.
std::vector<step::PacketSetup> packet_setups(const spec::FabricPackets& how) {
  std::vector<step::PacketSetup> out(1, {how.transport, how.paths, how.set});
  for (const spec::PacketCause& cause : how.causes) {
    step::PacketSetup next = out.back();
    next.set.insert(next.set.end(), cause.set.begin(), cause.set.end());
    out.push_back(std::move(next));
  }
  return out;
}

/// Makes the factors of setups fall from the first to the last, whose factors stay: taking a cause away never costs.
void order_slowdowns(std::vector<step::Slowdowns>& setups) {
  const step::Slowdowns last = setups.back();
  for (std::size_t k = 0; k + 1 < setups.size(); ++k)
    for (std::size_t i = 0; i < last.size(); ++i)
      for (double step::PurposeSlowdown::*f :
           {&step::PurposeSlowdown::mean, &step::PurposeSlowdown::least, &step::PurposeSlowdown::most}) {
        double& factor = setups[k][i].*f;
        if (k > 0) factor = std::min(factor, setups[k - 1][i].*f);
        factor = std::max(factor, last[i].*f);
      }
}

void share_causes(const spec::FabricPackets& how, const std::vector<double>& steps, PacketTimes& out) {
  const double all = steps.front() - steps.back();
  for (std::size_t k = 0; k < how.causes.size(); ++k) {
    const double added = steps[k] - steps[k + 1];
    out.causes.push_back(
        {how.causes[k].name, how.causes[k].title, added, 100 * added / steps.back(), all > 0 ? 100 * added / all : 0});
  }
}

PacketSampleResult sample_result(const step::NetworkSample& s, const step::PurposeSlowdown& slowdown,
                                 const std::string& purpose) {
  return {purpose, s.flows.flows.size(), s.crossing, s.leaves, s.leaves_of_machine, slowdown.mean, slowdown.pauses};
}

PacketTimes times_of(const spec::FabricPackets& how, double even_s) {
  PacketTimes out;
  out.transport = how.transport;
  out.paths = how.paths;
  out.source = how.source;
  out.even_s = out.tuned_s = out.low_s = out.high_s = even_s;
  return out;
}

}  // namespace

const Record& record_of(const PacketCauseResult*) {
  using C = PacketCauseResult;
  static const Record record("cause", {{"cause", &C::cause, "", "its name"},
                                       {"title", &C::title, "", "in words"},
                                       {"added_s", &C::added_s, "s", "that it adds to the step or call"},
                                       {"percent", &C::percent, "%", "the same, of the time after tuning"},
                                       {"share_percent", &C::share_percent, "%", "of all that tuning takes away"}});
  return record;
}

const Record& record_of(const PacketSampleResult*) {
  using S = PacketSampleResult;
  static const Record record(
      "sample", {{"purpose", &S::purpose, "", "of the transfers: dp, pp, ..."},
                 {"connections", &S::connections, "", "that were sent, all at once"},
                 {"between_leaves", &S::between_leaves, "", "of them, from one leaf to another"},
                 {"leaves", &S::leaves, "", "of which all connections were sent"},
                 {"leaves_of_machine", &S::leaves_of_machine, "", "in all"},
                 {"times_as_long", &S::times_as_long, "", "as over even paths: the slowest connection, mean of seeds"},
                 {"pauses", &S::pauses, "", "frames that stopped a port, mean of seeds"}});
  return record;
}

const Record& record_of(const PacketTimes*) {
  using P = PacketTimes;
  static const Record record("packets", {{"transport", &P::transport, "", "of the packets"},
                                         {"paths", &P::paths, "", "how they are chosen"},
                                         {"even_s", &P::even_s, "s", "the step or call over even paths"},
                                         {"tuned_s", &P::tuned_s, "s", "the same without all causes"},
                                         {"low_s", &P::low_s, "s", "with the luckiest hash of paths"},
                                         {"high_s", &P::high_s, "s", "with the unluckiest hash of paths"},
                                         {"causes", &P::causes, "", "of what tuning takes away, in the order taken"},
                                         {"samples", &P::samples, "", "transfers that were sent, by purpose"},
                                         {"source", &P::source, "", "of the settings"}});
  return record;
}

Result<PacketTimes> send_packets(const spec::FabricPackets& how, step::TrainRun& run) {
  PacketTimes out = times_of(how, run.step.step_time.in_s());
  BUSBAR_ASSIGN(const std::vector<step::NetworkSample> samples, step::network_samples(run));
  BUSBAR_ASSIGN(std::vector<step::Slowdowns> slowdowns,
                step::network_slowdowns(*run.machine, run.scenario.cluster_overrides.catalog, samples, even_setup(),
                                        packet_setups(how)));
  order_slowdowns(slowdowns);
  for (std::size_t i = 0; i < samples.size(); ++i)
    out.samples.push_back(sample_result(samples[i], slowdowns[0][i], program::name_of(samples[i].purpose)));
  std::vector<double> steps(slowdowns.size());
  step::StepResult whole;
  double lowest_s = out.even_s;
  for (std::size_t k = slowdowns.size(); k-- > 0;) {
    BUSBAR_ASSIGN(step::StepResult step, step::slowed_step(run, slowdowns[k], &step::PurposeSlowdown::mean));
    steps[k] = lowest_s = std::max(lowest_s, step.step_time.in_s());
    if (k == 0) whole = std::move(step);
  }
  BUSBAR_ASSIGN(const step::StepResult lucky, step::slowed_step(run, slowdowns[0], &step::PurposeSlowdown::least));
  BUSBAR_ASSIGN(const step::StepResult unlucky, step::slowed_step(run, slowdowns[0], &step::PurposeSlowdown::most));
  out.tuned_s = steps.back();
  out.low_s = std::min(whole.step_time.in_s(), lucky.step_time.in_s());
  out.high_s = std::max(whole.step_time.in_s(), unlucky.step_time.in_s());
  share_causes(how, steps, out);
  run.step = std::move(whole);
  step::rate_step(run);
  return out;
}

Result<PacketTimes> send_packets(const spec::FabricPackets& how, const predict::Predictor& machine,
                                 const program::CollectiveCall& call, const std::string& catalog, double& time_s) {
  PacketTimes out = times_of(how, time_s);
  const program::CollectiveCall* const calls[] = {&call};
  BUSBAR_ASSIGN(const std::optional<step::NetworkSample> sample, step::network_sample(machine, calls));
  if (!sample) return out;
  BUSBAR_ASSIGN(std::vector<step::Slowdowns> slowdowns,
                step::network_slowdowns(machine, catalog, {&*sample, 1}, even_setup(), packet_setups(how)));
  order_slowdowns(slowdowns);
  const step::PurposeSlowdown& whole = slowdowns[0][0];
  out.samples.push_back(sample_result(*sample, whole, "call"));
  std::vector<double> times;
  for (const step::Slowdowns& s : slowdowns) times.push_back(time_s * s[0].mean);
  out.tuned_s = times.back();
  out.low_s = time_s * whole.least;
  out.high_s = time_s * whole.most;
  share_causes(how, times, out);
  time_s = times.front();
  return out;
}

}  // namespace busbar::questions
