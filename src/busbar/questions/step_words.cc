#include "busbar/questions/step_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "busbar/base/quantity.h"
#include "busbar/cost/money.h"
#include "busbar/questions/bound_by.h"
#include "busbar/workload/layer_times.h"

namespace busbar::questions {
namespace {

struct WaitingFor {
  program::OpClass cls;
  const char* words;
  Duration step::Breakdown::*exposed;
};
constexpr WaitingFor kWaitingFor[] = {{program::OpClass::kTp, "tensor parallelism", &step::Breakdown::exposed_tp},
                                      {program::OpClass::kDp, "gradients and parameters", &step::Breakdown::exposed_dp},
                                      {program::OpClass::kPp, "sends between stages", &step::Breakdown::exposed_pp},
                                      {program::OpClass::kCp, "context parallelism", &step::Breakdown::exposed_cp},
                                      {program::OpClass::kEp, "exchanges of experts", &step::Breakdown::exposed_ep}};

/// The links that limit the most exposed call of a purpose.
std::string limited_by(const step::TrainRun& r, program::OpClass cls) {
  for (const step::CallUse& u : r.step.calls)
    if (u.cls == cls && u.bound.link != kNone<topology::LinkId>)
      return questions::brand_of(r.cluster().topology.link_class(u.bound.link));
  return "";
}

std::string purpose_words(const step::TrainRun& r) {
  std::vector<std::pair<Duration, std::string>> parts;
  for (const WaitingFor& p : kWaitingFor) {
    const Duration time = r.step.breakdown.*p.exposed;
    if (share_percent(time, r.step.step_time) < 0.5) continue;
    const std::string links = limited_by(r, p.cls);
    parts.emplace_back(time, fmt::format("{:.0f} % {}{}", share_percent(time, r.step.step_time), p.words,
                                         links.empty() ? "" : " (" + links + ")"));
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (const auto& [time, words] : parts) out += (out.empty() ? ": " : ", ") + words;
  return out;
}

/// "8.7 to 11 s": two digits each.
std::string likely_words(double low_s, double high_s) {
  const auto [unit, scale] = high_s >= 1      ? std::pair("s", 1.0)
                             : high_s >= 1e-3 ? std::pair("ms", 1e3)
                                              : std::pair("us", 1e6);
  return fmt::format("{} to {} {}", format_number(low_s * scale, 2), format_number(high_s * scale, 2), unit);
}

/// While no kernel runs, copies of offload do: part of the rows "other" and "optimizer".
Duration waits_for_copies(const step::TrainRun& r) {
  Duration sum;
  for (const step::CallUse& u : r.step.calls)
    if (u.cls == program::OpClass::kOther || u.cls == program::OpClass::kOptimizer) sum += u.exposed;
  return std::min(sum, r.step.breakdown.other + r.step.breakdown.optimizer);
}

std::string largest_call(const step::TrainRun& r) {
  if (r.step.calls.empty()) return "";
  const step::CallUse& u = r.step.calls.front();
  if (share_percent(u.exposed, r.step.step_time) < 0.5 || u.bound.link == kNone<topology::LinkId>) return "";
  const topology::Topology& t = r.cluster().topology;
  return fmt::format(" The largest single item is {}: {}, limited by the {} of {}.", call_name(r, u),
                     format_duration(u.exposed.in_s()),
                     u.bound.kind == lowering::BoundKind::kBandwidth ? "bandwidth" : "latency",
                     questions::brand_of(t.link_class(u.bound.link)));
}

/// Of the stage with most parameters.
Duration optimizer_time(const step::TrainRun& r, const workload::LayoutSpec& layout) {
  workload::LayoutSpec whole = layout;
  whole.sharding.zero = 0;
  Duration most;
  for (std::uint32_t s = 0; s < layout.pp; ++s) {
    const std::uint64_t local =
        count(workload::stage_memory(r.scenario.model, whole, s).parameters) / layout.exchange.parameter_bytes;
    const std::uint64_t shard = layout.shards_optimizer() ? local / layout.shard_ranks() : local;
    const workload::OptimizerTimes t = workload::optimizer_times(local, shard, layout, r.kernels);
    const double copied = static_cast<double>(t.to_host + t.from_host);
    const Duration copies = copied > 0 ? duration_from_ps(copied / r.kernels.host_bytes_per_s * 1e12) : Duration();
    most = std::max(most, t.norm + t.update + copies);
  }
  return most;
}

/// Why a GPU of many replicas does more than one of a single replica.
std::string above_one_replica(const step::TrainRun& r) {
  const Duration alone = optimizer_time(r, workload::single_replica(r.layout)), shared = optimizer_time(r, r.layout);
  const double longer_s = (*r.scaling_efficiency - 1) * r.step.step_time.in_s();
  if ((alone - shared).in_s() < longer_s / 2)
    return fmt::format("alone, one takes {} longer", format_duration(longer_s));
  return fmt::format("alone, one updates all optimizer states in {}; {} share them by ZeRO-{} and take {}",
                     format_duration(alone.in_s()), r.layout.dp, r.layout.sharding.zero,
                     format_duration(shared.in_s()));
}

}  // namespace

std::string scaling_words(const step::TrainRun& r) {
  const std::string percent = fmt::format("{:.0f} %", 100 * *r.scaling_efficiency);
  const bool above = *r.scaling_efficiency >= 1.005;  // what is not printed as 100 %
  return percent + " of one replica" + (above ? ": " + above_one_replica(r) : "");
}

Duration exposed(const step::Breakdown& b) {
  return b.exposed_tp + b.exposed_dp + b.exposed_pp + b.exposed_cp + b.exposed_ep;
}

double share_percent(Duration part, Duration whole) { return 100.0 * part.in_s() / whole.in_s(); }

std::string call_name(const step::TrainRun& r, const step::CallUse& u) {
  const program::CollectiveCall& c = r.program.calls[index(u.call)];
  std::string purpose = program::name_of(u.cls);
  for (char& ch : purpose) ch = static_cast<char>(std::toupper(static_cast<unsigned char>(ch)));
  const std::string size = format_binary_size(count(c.bytes));
  if (u.cls == program::OpClass::kOther || u.cls == program::OpClass::kOptimizer)
    return "copy between GPU and host memory of " + size;
  return fmt::format("{} {} of {} over {} ranks", purpose, collectives::name_of(c.op), size, c.groups.size());
}

std::pair<double, double> likely_step_s(const step::TrainRun& r) {
  const double expected = r.step.step_time.in_s();
  return {expected * (1 + r.band.low_percent / 100), expected * (1 + r.band.high_percent / 100)};
}

std::string step_figures(double step_s, double mfu) {
  return fmt::format("{} per step, {:.0f} % MFU", format_duration(step_s), 100 * mfu);
}

std::string does_not_fit_words(Duration step, double mfu, const Error& why) {
  std::string reason = why.message.substr(0, why.message.find(": "));
  if (!reason.empty()) reason[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(reason[0])));
  return fmt::format("Does not fit; if it did, {}. {}.", step_figures(step.in_s(), mfu), reason);
}

std::string step_verdict(const step::TrainRun& r) {
  if (r.does_not_fit) return does_not_fit_words(r.step.step_time, r.metrics.mfu, *r.does_not_fit);
  const step::StepResult& s = r.step;
  const auto [low, high] = likely_step_s(r);
  std::string text = fmt::format("{} per step (likely {}), {:.0f} % MFU.", format_duration(s.step_time.in_s()),
                                 likely_words(low, high), 100 * r.metrics.mfu);
  const double waits = share_percent(exposed(s.breakdown), s.step_time);
  const double bubble = share_percent(s.breakdown.bubble, s.step_time);
  const double copies = share_percent(waits_for_copies(r), s.step_time);
  if (waits >= 0.5)
    text += fmt::format(" GPUs wait for communication {:.0f} % of the time{}.", waits, purpose_words(r));
  else
    text += " Compute hides all communication.";
  if (copies >= 0.5) text += fmt::format(" They wait for copies to and from host memory {:.0f} %.", copies);
  if (bubble >= 0.5) text += fmt::format(" The pipeline bubble takes {:.0f} %.", bubble);
  return text + largest_call(r);
}

std::string waiting_words(const step::TrainRun& r) {
  if (!(r.cost.usd_per_day > 0)) return "";
  const Duration copies = waits_for_copies(r);
  const Duration lost = exposed(r.step.breakdown) + r.step.breakdown.bubble + copies;
  const double percent = share_percent(lost, r.step.step_time);
  const std::string day = cost::format_money(r.cost.usd_per_day);
  std::string text = fmt::format("{} GPUs at ${} an hour cost {} a day", r.gpus_with_spares(r.layout.ranks()),
                                 format_number(r.cluster().usd_per_gpu_hour), day);
  if (percent < 0.5) return text + ".";
  const bool bubble = r.step.breakdown.bubble > Duration();
  return text + fmt::format("; {:.0f} % of it is waiting{}: {}.", percent,
                            copies > Duration()
                                ? (bubble ? " (communication, copies and bubble)" : " (communication and copies)")
                            : bubble ? " (communication and bubble)"
                                     : "",
                            cost::format_money(r.cost.usd_per_day * percent / 100));
}

}  // namespace busbar::questions
