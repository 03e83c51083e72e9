#include "busbar/plan/tie_measurement.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "busbar/base/id.h"
#include "busbar/base/quantity.h"
#include "busbar/workload/build_program.h"

namespace busbar::plan {
namespace {

/// Seconds by which a measurement is off, of one second predicted.
double half_width(const predict::Band& b) { return (b.high_percent - b.low_percent) / 200; }

/// A family of groups without its outer axes: members at one distance, or `stride` 0.
struct Distance {
  std::uint32_t members = 1, stride = 1;
};

Distance distance_of(const collectives::GroupFamily& g) {
  if (!g.listed.empty() || g.inner.empty()) return {g.size(), 0};
  std::vector<collectives::Axis> axes = g.inner;
  std::sort(axes.begin(), axes.end(),
            [](const collectives::Axis& a, const collectives::Axis& b) { return a.actor_stride < b.actor_stride; });
  std::uint32_t next = axes[0].actor_stride;
  for (const collectives::Axis& a : axes) {
    if (a.actor_stride != next) return {g.size(), 0};
    next *= a.extent;
  }
  return {g.size(), axes[0].actor_stride};
}

/// The number of nodes with members of the first group.
std::size_t nodes_of(const collectives::GroupFamily& g, const predict::Predictor& machine) {
  std::set<topology::BlockId> nodes;
  for (std::uint32_t m = 0; m < g.size(); ++m)
    nodes.insert(machine.cluster().topology.block_of(machine.placement().gpu(g.actor(0, m))));
  return nodes.size();
}

/// Of the first node.
std::uint32_t ranks_per_node(const predict::Predictor& machine) {
  const topology::Topology& t = machine.cluster().topology;
  std::uint32_t out = 0;
  for (std::uint32_t r = 0; r < machine.ranks(); ++r)
    out += t.block_of(machine.placement().gpu(r)) == t.block_of(machine.placement().gpu(0));
  return out;
}

struct Term {
  double best_s = 0, other_s = 0, width = 0;
  double most_s = -1;  ///< exposed of `call`
  program::CollectiveCall call;
  const step::TrainRun* machine = nullptr;  ///< on which `call` runs
  double open_s() const { return std::abs(best_s - other_s) * width; }
};
using TermKey =
    std::tuple<collectives::Collective, std::uint32_t, bool, std::size_t>;  ///< ranks, several nodes, band of sizes

class Terms {
 public:
  explicit Terms(const predict::AccuracyTable& accuracy) : accuracy_(accuracy), sizes_(accuracy.sizes()) {}

  Status add(const TiedLayout& l, double Term::*seconds) {
    BUSBAR_ASSIGN(const program::Program program,
                  workload::build_program(l.machine.scenario.model, l.planned.layout, l.machine.kernels));
    for (const step::CallUse& use : l.planned.step.calls) {
      if (use.exposed <= Duration()) continue;
      const program::CollectiveCall& call = program.calls[index(use.call)];
      const bool several = nodes_of(call.groups, *l.machine.machine) > 1;
      const auto size = std::upper_bound(sizes_.begin(), sizes_.end(), call.bytes) - sizes_.begin();
      Term& term = terms_[{call.op, call.groups.size(), several, static_cast<std::size_t>(size)}];
      term.*seconds += use.exposed.in_s();
      if (use.exposed.in_s() <= term.most_s) continue;
      term.most_s = use.exposed.in_s();
      term.call = call;
      term.machine = &l.machine;
      term.width = half_width(accuracy_.collective(l.machine.cluster(), call.bytes, several));
    }
    return {};
  }

  const Term* most_open() const {
    const Term* most = nullptr;
    for (const auto& [key, term] : terms_)
      if (term.open_s() > (most == nullptr ? 0 : most->open_s())) most = &term;
    return most;
  }

 private:
  const predict::AccuracyTable& accuracy_;
  const std::vector<Bytes> sizes_;
  std::map<TermKey, Term> terms_;
};

/// The first product of a dense MLP, or the last one of attention where all layers have experts: m x n x k.
std::string product_shape(const workload::ModelSpec& m, const workload::LayoutSpec& l) {
  if (m.moe.experts == 0) return fmt::format("{},{},{}", l.tokens(), (m.gated_mlp ? 2 : 1) * m.ffn / l.tp, m.hidden);
  return fmt::format("{},{},{}", l.tokens(), m.hidden,
                     m.heads * workload::attention_width(workload::layer_table(m).kinds[0].mixer) / l.tp);
}

TieMeasurement measure_products(const std::string& best, const std::string& other) {
  TieMeasurement out;
  out.term = fmt::format("matrix products, m x n x k of {} and {}", best, other);
  out.command = fmt::format(
      "python3 -c \"import torch; from torch.utils.benchmark import Timer; r=lambda *s: torch.randn(*s,device='cuda',"
      "dtype=torch.bfloat16); f=lambda m,n,k: print(Timer('a@b',globals=dict(a=r(m,k),b=r(k,n))).timeit(1000)); "
      "f({}); f({})\"",
      best, other);
  return out;
}

std::string words_of_call(const program::CollectiveCall& c, const predict::Predictor& machine) {
  const std::string size = format_size(static_cast<double>(count(c.bytes)));
  if (machine.in_host_memory(c.groups)) return fmt::format("copies of {} between each GPU and host memory", size);
  const std::size_t nodes = nodes_of(c.groups, machine);
  return fmt::format("{} of {} over {} GPUs{}", collectives::name_of(c.op), size, c.groups.size(),
                     nodes > 1 ? fmt::format(" in {} nodes", nodes) : " of a node");
}

// Source: NVIDIA nvbandwidth, testcase.h: one GPU while all others copy, too. -b: MiB.
std::string nvbandwidth_command(const program::CollectiveCall& c) {
  const bool to_host = c.groups.actor(0, 0) < c.groups.actor(0, 1);
  const std::uint64_t mib = std::max<std::uint64_t>(1, count(c.bytes) >> 20);
  return fmt::format("nvbandwidth -t {}_memcpy_ce -b {}", to_host ? "all_to_host" : "host_to_all", mib);
}

}  // namespace

// Source: nccl-tests, README: NCCL_TESTS_SPLIT makes a group of the ranks with one rank / n ("DIV n") or rank % n
// ("MOD n"). mpirun of Open MPI: -N processes per node, -x exports.
std::string nccl_tests_command(const program::CollectiveCall& call, std::uint32_t per_node) {
  std::string program = collectives::name_of(call.op);
  if (call.op == collectives::Collective::kAllToAll || call.op == collectives::Collective::kAllToAllV)
    program = "alltoall";
  if (call.op == collectives::Collective::kSendRecv) program = "sendrecv";
  Distance d = distance_of(call.groups);
  if (d.stride % per_node == 0) d.stride = std::min(d.stride, per_node);  // one GPU of each of `members` nodes
  const std::uint32_t used = d.members * std::max(1u, d.stride);
  const std::uint32_t ranks = (used + per_node - 1) / per_node * per_node;
  std::string split;
  if (d.stride > 1 && used == ranks) split = fmt::format("MOD {}", d.stride);
  if (d.stride == 1 && used < ranks && ranks % used == 0) split = fmt::format("DIV {}", d.members);
  const bool all = !split.empty() || used == ranks;
  return fmt::format("mpirun -np {} -N {} {}{}_perf -b {} -e {} -g 1", all ? ranks : d.members,
                     all ? per_node : std::min(per_node, d.members),
                     split.empty() ? "" : fmt::format("-x NCCL_TESTS_SPLIT=\"{}\" ", split), program, count(call.bytes),
                     count(call.bytes));
}

Result<std::optional<TieMeasurement>> tie_measurement(const TiedLayout& best, const TiedLayout& other,
                                                      const predict::AccuracyTable& accuracy) {
  Terms terms(accuracy);
  BUSBAR_RETURN_IF_ERROR(terms.add(best, &Term::best_s));
  BUSBAR_RETURN_IF_ERROR(terms.add(other, &Term::other_s));
  const Term* call = terms.most_open();
  const auto compute_of = [](const PlannedLayout& l) {
    return (l.step.breakdown.compute + l.step.breakdown.bubble).in_s();
  };
  const Term compute{compute_of(best.planned), compute_of(other.planned), half_width(best.machine.band), -1, {}, {}};
  const workload::ModelSpec& model = best.machine.scenario.model;
  const std::string shape = product_shape(model, best.planned.layout),
                    other_shape = product_shape(model, other.planned.layout);
  const bool products = shape != other_shape && compute.open_s() > (call == nullptr ? 0 : call->open_s());
  if (!products && call == nullptr) return std::optional<TieMeasurement>();
  const Term& term = products ? compute : *call;
  constexpr double kDecides = 0.1;  // of the predicted difference: below that, no measurement of the term turns it
  const double apart_s = std::abs((best.planned.step.step_time - other.planned.step.step_time).in_s());
  if (term.open_s() < kDecides * apart_s) return std::optional<TieMeasurement>();
  TieMeasurement out;
  if (products) {
    out = measure_products(shape, other_shape);
  } else {
    const predict::Predictor& machine = *call->machine->machine;
    out.term = words_of_call(call->call, machine);
    out.command = machine.in_host_memory(call->call.groups) ? nvbandwidth_command(call->call)
                                                            : nccl_tests_command(call->call, ranks_per_node(machine));
  }
  out.best_s = term.best_s;
  out.other_s = term.other_s;
  out.band_percent = 100 * term.width;
  return std::optional(std::move(out));
}

}  // namespace busbar::plan
