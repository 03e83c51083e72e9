#include "busbar/step/traced_step.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "busbar/workload/layer_times.h"

namespace busbar::step {
namespace {

bool same_ranks(const collectives::GroupFamily& groups, const std::vector<std::uint32_t>& members) {
  if (members.empty() || groups.size() != members.size()) return false;
  for (std::uint32_t g = 0; g < groups.groups(); ++g) {
    if (groups.actor(g, 0) != members.front()) continue;
    bool all = true;
    for (std::uint32_t m = 1; m < groups.size() && all; ++m) all = groups.actor(g, m) == members[m];
    if (all) return true;
  }
  return false;
}

/// What a reader must know of the rank: parts are predicted for one stage.
std::string stage_note(const TrainRun& run, std::uint32_t rank) {
  const std::uint32_t critical = index(run.step.critical_role);
  for (std::uint32_t s = 0; s < run.layout.pp && run.layout.pp > 1; ++s) {
    const collectives::GroupFamily& ranks = run.program.roles[s].ranks;
    for (std::uint32_t m = 0; m < ranks.size(); ++m)
      if (ranks.actor(0, m) == rank && s != critical)
        return fmt::format(
            "rank {} is on stage {}, and the predicted parts are those of stage {}; a trace of rank {} "
            "compares better",
            rank, s, critical, run.program.roles[critical].ranks.actor(0, 0));
  }
  return "";
}

/// Kernels of NCCL that only send and receive may be an all-to-all.
bool same_kind(const formats::TracedCollective& c, collectives::Collective op) {
  if (c.op)
    return *c.op == op || (*c.op == collectives::Collective::kAllToAll && op == collectives::Collective::kAllToAllV);
  return op == collectives::Collective::kSendRecv || op == collectives::Collective::kAllToAll ||
         op == collectives::Collective::kAllToAllV;
}

program::OpClass purpose_of(const formats::TracedCollective& c, const TrainRun& run) {
  int best = 0;
  program::OpClass cls = program::OpClass::kOther;
  for (const CallUse& u : run.step.calls) {
    const program::CollectiveCall& call = run.program.calls[index(u.call)];
    const int score =
        4 * same_ranks(call.groups, c.members) + 2 * (call.groups.size() == c.ranks) + same_kind(c, call.op);
    if (score <= best) continue;
    best = score;
    cls = u.cls;
  }
  return cls;
}

std::vector<program::OpClass> purposes_of(const formats::StepTrace& trace, const TrainRun& run) {
  std::map<std::tuple<std::vector<std::uint32_t>, std::uint32_t, std::string>, program::OpClass> known;
  std::vector<program::OpClass> out;
  for (const formats::TracedCollective& c : trace.collectives) {
    const auto key = std::tuple(c.members, c.ranks, c.op ? collectives::name_of(*c.op) : c.name);
    auto it = known.find(key);
    if (it == known.end()) it = known.emplace(key, purpose_of(c, run)).first;
    out.push_back(it->second);
  }
  return out;
}

std::vector<TracedPart> parts_of(const formats::TracedParts& t, const TrainRun& run) {
  const Breakdown& b = run.step.breakdown;
  const auto alone = [&](formats::TracedKind k) { return t.alone_us[static_cast<std::size_t>(k)] / 1e6; };
  const auto exposed = [&](program::OpClass c) { return t.exposed_us[static_cast<std::size_t>(c)] / 1e6; };
  const std::uint32_t stage = std::min(index(run.step.critical_role), run.layout.pp - 1);
  const workload::KernelKinds kinds = workload::kernel_kinds(run.scenario.model, run.layout, run.kernels, stage);
  const double gemm = alone(formats::TracedKind::kGemm), attention = alone(formats::TracedKind::kAttention),
               others = alone(formats::TracedKind::kOther);
  const double compute = b.compute.in_s(), gemm_s = kinds.gemm.in_s(), attention_s = kinds.attention.in_s();
  std::vector<TracedPart> out{
      {"computation", gemm + attention + others, compute},
      {"GEMM", gemm, gemm_s, true},
      {"attention", attention, attention_s, true},
      {"other kernels", others, std::max(0.0, compute - gemm_s - attention_s), true},
      {"optimizer", alone(formats::TracedKind::kOptimizer), b.optimizer.in_s()},
      {"exposed TP", exposed(program::OpClass::kTp), b.exposed_tp.in_s()},
      {"exposed CP", exposed(program::OpClass::kCp), b.exposed_cp.in_s()},
      {"exposed EP", exposed(program::OpClass::kEp), b.exposed_ep.in_s()},
      {"exposed DP", exposed(program::OpClass::kDp), b.exposed_dp.in_s()},
      {"sends between stages and bubble", exposed(program::OpClass::kPp), (b.exposed_pp + b.bubble).in_s()},
      {"exposed collectives of no known purpose", exposed(program::OpClass::kOther), 0},
      {"copies to and from the GPU", alone(formats::TracedKind::kCopy), 0},
      {"idle", t.idle_us / 1e6, b.other.in_s()},
      {"waiting for the slowest GPU (measured: in the collectives)", 0, b.slowest_gpu.in_s()}};
  std::erase_if(out, [](const TracedPart& p) { return p.measured_s == 0 && p.predicted_s == 0; });
  return out;
}

/// What a reader must know of a trace of another model or layout.
std::string calls_note(const std::vector<TracedCalls>& calls) {
  bool predicted = false, both = false;
  for (const TracedCalls& c : calls) predicted |= c.predicted_times > 0, both |= c.predicted_times > 0 && c.times > 0;
  return predicted && !both ? "the trace has none of the collectives of this step; give the model and layout of the run"
                            : "";
}

std::vector<TracedCalls> calls_of(const formats::StepTrace& trace, const std::vector<program::OpClass>& purposes,
                                  const TrainRun& run) {
  std::vector<TracedCalls> out;
  const auto row = [&](program::OpClass cls, const std::string& what) -> TracedCalls& {
    const auto it = std::find_if(out.begin(), out.end(), [&](const auto& r) { return r.cls == cls && r.what == what; });
    return it != out.end() ? *it : out.emplace_back(TracedCalls{cls, what});
  };
  const auto steps = static_cast<double>(trace.steps.size());
  const double from = trace.steps.front().start_us, to = trace.steps.back().end_us;
  for (std::size_t i = 0; i < trace.collectives.size(); ++i) {
    const formats::TracedCollective& c = trace.collectives[i];
    if (c.start_us < from || c.start_us >= to) continue;
    TracedCalls& r = row(purposes[i], c.op ? collectives::name_of(*c.op) : "send_recv");
    r.times += 1 / steps;
    r.mean_us += c.duration_us / steps;  // the sum, until divided
    r.fastest_us = r.fastest_us == 0 ? c.duration_us : std::min(r.fastest_us, c.duration_us);
  }
  for (TracedCalls& r : out) r.mean_us /= r.times;
  std::map<std::pair<program::OpClass, std::string>, std::pair<double, double>>
      predicted;  // times, microseconds in all
  for (const CallUse& u : run.step.calls) {
    const program::CollectiveCall& c = run.program.calls[index(u.call)];
    auto& [times, us] = predicted[{u.cls, collectives::name_of(c.op)}];
    times += static_cast<double>(u.count) * c.groups.groups() * c.groups.size() / run.layout.ranks();
    us += u.total.in_us() * c.groups.groups() * c.groups.size() / run.layout.ranks();
  }
  for (const auto& [key, sum] : predicted) {
    TracedCalls& r = row(key.first, key.second);
    r.predicted_times = sum.first;
    r.predicted_us = sum.first > 0 ? sum.second / sum.first : 0;
  }
  std::stable_sort(out.begin(), out.end(), [](const TracedCalls& a, const TracedCalls& b) { return a.cls < b.cls; });
  return out;
}

}  // namespace

Result<TracedStepGap> read_traced(const TrainRun& run, const std::string& path) {
  TracedStepGap out;
  out.file = path;
  BUSBAR_ASSIGN(out.trace, formats::read_step_trace(path));
  if (out.trace.world_size > 1 && out.trace.world_size != run.layout.ranks())
    return invalid(fmt::format("is a trace of {} ranks, and this step has {}; give the machine and layout of the run",
                               out.trace.world_size, run.layout.ranks()),
                   {path, 0, 0, ""});
  const std::vector<program::OpClass> purposes = purposes_of(out.trace, run);
  out.steps = formats::parts_of_steps(out.trace, purposes);
  if (out.steps.step_us <= 0) return invalid("has steps without length", {path, 0, 0, ""});
  out.parts = parts_of(out.steps, run);
  out.calls = calls_of(out.trace, purposes, run);
  out.overlay = overlay_of(run, out.trace, purposes);
  out.trace.kernels.clear();
  if (std::string note = calls_note(out.calls); !note.empty()) out.trace.notes.push_back(std::move(note));
  if (std::string note = stage_note(run, out.trace.rank); !note.empty()) out.trace.notes.push_back(std::move(note));
  return out;
}

}  // namespace busbar::step
