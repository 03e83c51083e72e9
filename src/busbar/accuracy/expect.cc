#include "busbar/accuracy/expect.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "busbar/predict/rank_groups.h"

namespace busbar::accuracy {
namespace {

/// The GPUs that take part, in order of ranks.
Result<std::vector<topology::DeviceId>> chosen_gpus(const spec::Cluster& cluster, const ExpectOptions& o) {
  const auto all = cluster.topology.gpus();
  const std::uint32_t n = o.gpus == 0 ? static_cast<std::uint32_t>(all.size()) : o.gpus;
  std::vector<topology::DeviceId> out;
  if (!o.ranks.empty()) {
    BUSBAR_ASSIGN(const collectives::GroupFamily groups,
                  predict::parse_rank_groups(o.ranks, static_cast<std::uint32_t>(all.size())));
    if (groups.groups() != 1 || groups.size() < 2)
      return invalid("results are of one group of two GPUs or more", {"", 0, 0, "--ranks"});
    for (std::uint32_t r = 0; r < groups.size(); ++r) out.push_back(all[groups.actor(0, r)]);
    return out;
  }
  if (n > all.size()) return spec::too_many_gpus("-g", n, cluster, o.overrides);
  if (n < 2) return invalid("a collective needs two GPUs", {"", 0, 0, "-g"});
  return std::vector<topology::DeviceId>(all.begin(), all.begin() + n);
}

}  // namespace

Result<std::unique_ptr<predict::Predictor>> predictor_of(const ExpectOptions& o, const spec::Overrides& overrides,
                                                         const predict::AccuracyTable* accuracy) {
  BUSBAR_ASSIGN(spec::Cluster cluster,
                o.load ? o.load(o.cluster, overrides) : spec::load_cluster(o.cluster, overrides));
  return predictor_on(o, std::move(cluster), accuracy);
}

Result<std::unique_ptr<predict::Predictor>> predictor_on(const ExpectOptions& o, spec::Cluster cluster,
                                                         const predict::AccuracyTable* accuracy) {
  BUSBAR_ASSIGN(const std::vector<topology::DeviceId> gpus, chosen_gpus(cluster, o));
  predict::PredictPolicy policy = o.policy;
  policy.engine = o.engine;
  policy.accuracy = accuracy;
  return predict::Predictor::make(std::move(cluster), gpus, std::move(policy));
}

Status check_ranks(const MeasuredResults& results, const predict::Predictor& machine) {
  if (results.ranks == 0 || results.ranks == machine.ranks()) return {};
  return invalid(fmt::format("the results are of {} ranks, the machine has {}; name a machine of as many, or with "
                             "--gpus the first GPUs that ran it",
                             results.ranks, machine.ranks()),
                 {"", 0, 0, "--cluster"});
}

Result<Expectation> expect_results(const MeasuredResults& results, const ExpectOptions& options) {
  constexpr double kNoise = 0.05;  // a column of sound tables scatters by 3 % to 8 %, so one row may be below its floor
  BUSBAR_ASSIGN(const predict::AccuracyTable accuracy,
                predict::AccuracyTable::load(spec::Catalog(options.overrides.catalog)));
  BUSBAR_ASSIGN(const auto machine, predictor_of(options, options.overrides, &accuracy));
  BUSBAR_RETURN_IF_ERROR(check_ranks(results, *machine));
  Expectation out;
  out.inputs = machine->cluster().text;
  out.ranks = machine->ranks();
  out.in_place = results.in_place;
  out.launch = machine->protocol().launch;
  for (const MeasuredResult& m : results.rows) {
    if (options.go_on && !options.go_on(out.rows.size(), results.rows.size())) break;
    Result<predict::Prediction> timed =
        machine->time(predict::call_over(options.op, Bytes{m.size_bytes}, machine->ranks()), {.relief = false});
    if (stops(options.policy.stop)) break;
    BUSBAR_ASSIGN(const predict::Prediction p, std::move(timed));
    const double us = p.time.in_us();
    ExpectedRow row{m.size_bytes,
                    m.us,
                    us,
                    std::max(us * (1 + p.band.low_percent / 100), p.floor.time.in_us()),
                    us * (1 + p.band.high_percent / 100),
                    p.floor.time.in_us(),
                    Verdict::kGood,
                    predict::how_of(p),
                    predict::limit_of(p, machine->cluster().topology)};
    if (m.us > row.high_us) row.verdict = Verdict::kLow;
    if (m.us < row.low_us) row.verdict = Verdict::kFast;
    if (m.us < row.floor_us * (1 - kNoise)) row.verdict = Verdict::kSuspicious;
    out.rows.push_back(std::move(row));
  }
  if (out.rows.empty()) return out;
  out.table = judge_table(out.rows);
  return out;
}

Result<std::vector<ComparedRow>> compare_results(const MeasuredResults& now, const MeasuredResults& before) {
  std::vector<ComparedRow> out;
  for (const MeasuredResult& a : now.rows)
    for (const MeasuredResult& b : before.rows)
      if (a.size_bytes == b.size_bytes) out.push_back({a.size_bytes, a.us, b.us});
  if (out.empty()) return invalid("the two files have no size in common");
  return out;
}

}  // namespace busbar::accuracy
