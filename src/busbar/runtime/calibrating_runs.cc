#include "busbar/runtime/calibrating_runs.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "busbar/collectives/builders.h"
#include "busbar/runtime/host_rates.h"

namespace busbar::runtime {
namespace {

constexpr std::uint32_t kTimes =
    5;  // of each run; the middle one counts, since rows of `bench` are means, not the least

/// One algorithm at one size.
struct Probe {
  std::string algorithm;
  collectives::Collective op;
  std::uint64_t bytes;
  std::uint32_t root = 0;
  bool in_place = true;
};

Result<Executable> program_of(const Probe& p, std::uint32_t ranks, std::uint64_t piece_bytes, bool shared_memory) {
  BUSBAR_ASSIGN(const collectives::Schedule s, collectives::build_schedule(p.algorithm, p.op, ranks, 1, p.root));
  BUSBAR_ASSIGN(collectives::ExecutionPlan plan, plan_in_pieces(s, p.bytes, piece_bytes, p.in_place));
  return compile(std::move(plan), {shared_memory, false});
}

/// Most iterations of a probe. In shared memory so many that they take some ms: a rank that loses its core for one time
/// slice must not be all that is seen. Ranks that share cores wait for slices in each of them.
std::uint64_t most_iterations(std::uint32_t ranks, bool shared_memory) {
  const std::uint32_t cores = cores_allowed();
  if (ranks > cores) return std::max<std::uint64_t>(10, 200 * cores / ranks);
  return shared_memory ? 1000 : 200;
}

/// Floats, about 8 MB in all.
Task task_of(const Probe& p, const Executable& program, std::uint64_t most) {
  constexpr std::uint64_t kMoved = 8 << 20;
  Task task;
  task.program = &program;
  const std::uint64_t chunks = std::max(1u, program.plan.chunks);
  task.filling = {ElementType::kFloat, Reduction::kSum,
                  static_cast<std::size_t>(std::max<std::uint64_t>(1, p.bytes / sizeof(float) / chunks))};
  task.iterations = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kMoved / p.bytes, 2, most));
  task.warmup = 2;
  task.check = false;
  return task;
}

/// Seconds of each probe, as its slowest rank sees it.
Result<std::vector<double>> time_probes(const std::vector<Probe>& probes, std::uint32_t ranks,
                                        std::uint64_t piece_bytes, const SessionOptions& options) {
  std::vector<Executable> programs;
  programs.reserve(probes.size());
  for (const Probe& p : probes) {
    BUSBAR_ASSIGN(Executable x, program_of(p, ranks, piece_bytes, shares_memory(options.transport)));
    programs.push_back(std::move(x));
  }
  std::vector<Task> tasks;
  const std::uint64_t most = most_iterations(ranks, shares_memory(options.transport));
  for (std::size_t i = 0; i < kTimes * probes.size(); ++i)
    tasks.push_back(task_of(probes[i % probes.size()], programs[i % probes.size()], most));
  BUSBAR_ASSIGN(const std::vector<TaskResult> results, run_tasks(tasks, options));
  std::vector<double> out;
  for (std::size_t p = 0; p < probes.size(); ++p) {
    std::array<double, kTimes> seconds{};
    for (std::size_t i = 0; i < kTimes; ++i) seconds[i] = results[i * probes.size() + p].slowest_s();
    std::nth_element(seconds.begin(), seconds.begin() + kTimes / 2, seconds.end());
    out.push_back(seconds[kTimes / 2]);
  }
  return out;
}

/// Powers of four from 1 KiB on, up to one that is no less than the largest call.
std::vector<std::uint64_t> reference_sizes(std::uint64_t bytes) {
  constexpr std::uint64_t kLeast = 64, kSmallest = 1 << 10, kLargest = 64 << 20;
  std::vector<std::uint64_t> out{kLeast};
  for (std::uint64_t s = kSmallest; s <= kLargest && out.back() < bytes; s *= 4) out.push_back(s);
  return out;
}

}  // namespace

Reference reference_for(collectives::Collective op, std::uint32_t root, bool in_place) {
  using collectives::Collective;
  switch (op) {
    case Collective::kAllReduce:
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return {"ring", op, root, in_place};
    case Collective::kBroadcast:
    case Collective::kReduce:
      return {"tree", op, root, in_place};
    case Collective::kAllToAllV:
      return {"direct", Collective::kAllToAll, root, in_place};
    default:
      return {"direct", op, root, in_place};
  }
}

double RunRates::reference_s(std::uint64_t bytes) const {
  const auto above =
      std::find_if(reference.begin(), reference.end(), [&](const TimedCall& c) { return c.bytes >= bytes; });
  if (above == reference.begin()) return above->seconds;
  const TimedCall& low = above[-1];
  const double more = static_cast<double>(bytes) / static_cast<double>(low.bytes);
  if (above == reference.end()) return low.seconds * more;
  const double power = std::log(above->seconds / low.seconds) /
                       std::log(static_cast<double>(above->bytes) / static_cast<double>(low.bytes));
  return low.seconds * std::pow(more, power);
}

RunRatePoint RunRates::at(std::uint64_t bytes) const {
  const auto above =
      std::find_if(points.begin(), points.end(), [&](const RunRatePoint& p) { return p.bytes >= bytes; });
  if (above == points.end()) return points.back();
  if (above == points.begin()) return points.front();
  const RunRatePoint& low = above[-1];
  const double x = std::log(static_cast<double>(bytes) / static_cast<double>(low.bytes)) /
                   std::log(static_cast<double>(above->bytes) / static_cast<double>(low.bytes));
  const auto between = [&](double a, double b) { return a + x * (b - a); };
  return {bytes, between(low.copy_bytes_per_s, above->copy_bytes_per_s),
          between(low.add_bytes_per_s, above->add_bytes_per_s),
          between(low.one_copy_bytes_per_s, above->one_copy_bytes_per_s),
          between(low.kept_copy_bytes_per_s, above->kept_copy_bytes_per_s)};
}

Result<RunRates> measure_runs(std::uint32_t ranks, std::uint64_t bytes, std::uint64_t piece_bytes,
                              const SessionOptions& options, const std::optional<Reference>& reference) {
  constexpr std::uint64_t kTiny = 64, kSmallest = 64 << 10, kLargest = 64 << 20;
  using collectives::Collective;
  std::vector<Probe> probes{{"ring", Collective::kAllGather, kTiny * ranks},
                            {"direct", Collective::kAllGather, kTiny * ranks},
                            {"direct", Collective::kGather, kTiny * ranks}};
  for (std::uint64_t s = kSmallest; s <= kLargest; s *= 4) {
    probes.push_back({"ring", Collective::kAllGather, s});
    probes.push_back({"ring", Collective::kReduceScatter, s});
    probes.push_back({"direct", Collective::kGather, s});
    probes.push_back({"direct", Collective::kScatter, s});
    if (s >= bytes) break;
  }
  const std::size_t rings = probes.size();
  if (reference)
    for (const std::uint64_t s : reference_sizes(bytes))
      probes.push_back({reference->algorithm, reference->op, s, reference->root, reference->in_place});
  BUSBAR_ASSIGN(const std::vector<double> seconds, time_probes(probes, ranks, piece_bytes, options));
  RunRates out;
  const double steps = ranks - 1;
  out.hop_s = seconds[0] / steps;
  // Each rank sends and takes in a message more per further rank.
  if (ranks > 2) out.per_message_s = std::max(0.0, seconds[1] - out.hop_s) / (2 * (steps - 1));
  out.kept_message_s = seconds[2] / steps;
  for (std::size_t i = 3; i < rings; i += 4) {
    // What each rank, or the root, takes in; latencies never hide more than three quarters of a run.
    const double moved = static_cast<double>(probes[i].bytes) * steps / ranks;
    const auto rate = [&](double s, double latency) { return moved / std::max(s - latency, s / 4); };
    out.points.push_back({probes[i].bytes, rate(seconds[i], steps * out.hop_s), rate(seconds[i + 1], steps * out.hop_s),
                          rate(seconds[i + 2], seconds[2]), rate(seconds[i + 3], seconds[2]) / steps});
  }
  for (std::size_t i = rings; i < probes.size(); ++i) out.reference.push_back({probes[i].bytes, seconds[i]});
  return out;
}

}  // namespace busbar::runtime
