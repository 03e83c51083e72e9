// The price of rings and trees that differ from those of NCCL's rules. Both are timed as schedules of their own.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "busbar/collectives/builders.h"
#include "busbar/doctor/internal/logged_job.h"

namespace busbar::doctor {
namespace {

/// Time in milliseconds of 1 GiB by this schedule. Each rank takes its nearest NICs in turn.
Result<double> time_by(const LoggedJob& job, const char* algorithm, const Result<collectives::Schedule>& schedule) {
  if (!schedule.ok()) return schedule.error();
  predict::PredictPolicy policy = job.options.policy;
  policy.engine = job.options.engine;
  BUSBAR_ASSIGN(const auto machine, predict::Predictor::make(spec::Cluster(job.sound), job.gpus, std::move(policy)));
  program::CollectiveCall call = predict::call_over(job.options.op, Bytes{kPricedBytes}, machine->ranks());
  call.algorithm = algorithm;
  call.protocol = program::Protocol::kSimple;
  call.schedule = std::make_shared<const collectives::Schedule>(*schedule);
  BUSBAR_ASSIGN(const predict::Prediction p, machine->time(call, predict::kTimeAlone));
  return p.time.in_us() / 1e3;
}

void compare_times(const LoggedJob& job, const char* algorithm, const Result<collectives::Schedule>& logged,
                   const Result<collectives::Schedule>& expected, LogDifference& d) {
  const Result<double> as_logged = time_by(job, algorithm, logged), as_expected = time_by(job, algorithm, expected);
  if (!as_logged.ok() || !as_expected.ok()) {
    d.cost_of = "not predicted: " + (as_logged.ok() ? as_expected : as_logged).error().message;
    return;
  }
  d.cost_percent = 100 * (*as_logged / *as_expected - 1);
  d.cost_of = fmt::format(
      "{} of 1 GiB by {}s over the nearest NICs, as logged {:.4g} ms, as expected {:.4g} ms; no setting of NCCL gives "
      "these {}s, NCCL_TOPO_FILE of the node would (busbar topo node.xml)",
      collectives::name_of(job.options.op), algorithm, *as_logged, *as_expected, algorithm);
}

Result<collectives::Schedule> ring_schedule(const LoggedJob& job, std::vector<std::vector<std::uint32_t>> orders) {
  collectives::ScheduleSpec spec;
  spec.algorithm = "ring";
  spec.op = job.options.op;
  spec.ranks = job.comm.ranks;
  spec.orders = std::move(orders);
  return collectives::build_schedule(spec);
}

/// A tree from its root down; empty if it does not reach all ranks.
std::optional<collectives::GivenTree> tree_of(const std::vector<formats::LoggedTree>& ranks) {
  collectives::GivenTree out;
  const auto root = std::find_if(ranks.begin(), ranks.end(), [](const formats::LoggedTree& t) { return t.up < 0; });
  if (root == ranks.end()) return std::nullopt;
  out.position.push_back(static_cast<std::uint32_t>(root - ranks.begin()));
  out.parent.push_back(0);
  for (std::uint32_t at = 0; at < out.position.size(); ++at)
    for (const int child : ranks[out.position[at]].down) {
      if (child < 0) continue;
      if (static_cast<std::size_t>(child) >= ranks.size() || out.position.size() >= ranks.size()) return std::nullopt;
      out.position.push_back(static_cast<std::uint32_t>(child));
      out.parent.push_back(at);
    }
  return out.position.size() == ranks.size() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

void price_rings(const LoggedJob& job, LogDifference& d) {
  std::vector<std::vector<std::uint32_t>> logged, expected;
  for (std::uint32_t c = 0; c < job.comm.channels; ++c) {
    expected.push_back(nccl::nccl_ring(job.comm, c).order);
    const auto said = job.said->rings.find(static_cast<int>(c));
    logged.push_back(expected.back());
    if (said != job.said->rings.end() && said->second.size() == job.comm.ranks)
      logged.back().assign(said->second.begin(), said->second.end());
  }
  compare_times(job, "ring", ring_schedule(job, std::move(logged)), ring_schedule(job, std::move(expected)), d);
}

void price_trees(const LoggedJob& job, LogDifference& d) {
  std::vector<collectives::WeightedTree> logged, expected;
  for (std::uint32_t c = 0; c < job.comm.channels; ++c) {
    const nccl::NcclTree tree = nccl::nccl_tree(job.comm, c);
    std::vector<formats::LoggedTree> ours, theirs;
    for (std::uint32_t r = 0; r < job.comm.ranks; ++r) {
      ours.push_back({{tree.down[r][0], tree.down[r][1], tree.down[r][2]}, tree.up[r]});
      const auto member = job.said->members.find(static_cast<int>(r));
      if (member != job.said->members.end() && c < member->second.trees.size())
        theirs.push_back(member->second.trees[c]);
    }
    const auto by_rules = tree_of(ours), by_log = tree_of(theirs.size() == ours.size() ? theirs : ours);
    if (!by_rules || !by_log) {
      d.cost_of = "not predicted: the log does not show the trees of all ranks";
      return;
    }
    expected.push_back({*by_rules});
    logged.push_back({*by_log});
  }
  const auto schedule = [&](const std::vector<collectives::WeightedTree>& trees) {
    return collectives::build_tree_packing(job.options.op, job.comm.ranks, 0, trees);
  };
  compare_times(job, "tree", schedule(logged), schedule(expected), d);
}

}  // namespace busbar::doctor
