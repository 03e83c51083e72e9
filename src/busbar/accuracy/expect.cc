#include "busbar/accuracy/expect.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "busbar/accuracy/summary.h"
#include "busbar/base/quantity.h"

namespace busbar {
namespace {

/// A possible fault of a machine, as a change to its file.
struct Suspicion {
  const char* words;
  std::vector<std::string> set = {}, degrade = {};
  bool nvls = true;
};

std::vector<Suspicion> suspicions() {
  return {{"NVLS is not used (NCCL_NVLS_ENABLE=0, or the fabric manager lacks multicast)", {}, {}, false},
          {"GPUDirect RDMA is not used: payloads bounce in host memory (nvidia-peermem, ACS, NCCL_NET_GDR_LEVEL)",
           {"node.gpudirect=false"}},
          {"GPUs do not reach each other over PCIe (NCCL_P2P_DISABLE, ACS, IOMMU)", {"node.p2p=false"}},
          {"sockets instead of RDMA (no RDMA device found, NCCL_IB_DISABLE)",
           {"fabric.transport=tcp"},
           {"node*.nic*=0.25"}},
          {"half of the network (half of the NICs or ports carry nothing)", {}, {"node*.nic*=0.5"}},
          {"one NIC of eight carries everything", {}, {"node*.nic*=0.125"}}};
}

std::vector<DeviceId> first_gpus(const Cluster& cluster, std::uint32_t n) {
  const auto all = cluster.topology.gpus();
  return {all.begin(), all.begin() + n};
}

Result<Prediction> time_alone(Predictor& machine, Collective op, std::uint64_t bytes) {
  return machine.time(call_over(op, Bytes{bytes}, machine.ranks()), kTimeAlone);
}

/// The suspicions under which the size would take the measured time.
std::vector<std::string> explain(const ExpectOptions& o, const ExpectedRow& row) {
  constexpr double kNear = 0.2;       // relative to the measurement
  constexpr double kDifferent = 0.1;  // smallest change of a suspicion that explains anything
  std::vector<std::string> out;
  for (const Suspicion& s : suspicions()) {
    Overrides overrides = o.overrides;
    overrides.set.insert(overrides.set.end(), s.set.begin(), s.set.end());
    overrides.degrade.insert(overrides.degrade.end(), s.degrade.begin(), s.degrade.end());
    const auto made = predictor_of(o, overrides, s.nvls);
    if (!made.ok()) continue;  // the machine has no such part
    const auto p = time_alone(**made, o.op, row.size_bytes);
    if (!p.ok() || std::abs(p->time.in_us() / row.expected_us - 1) < kDifferent) continue;
    if (std::abs(p->time.in_us() / row.measured_us - 1) <= kNear)
      out.push_back(fmt::format("{}: {} expected then", s.words, format_duration(p->time.in_s())));
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<Predictor>> predictor_of(const ExpectOptions& o, const Overrides& overrides, bool nvls,
                                                const AccuracyTable* accuracy) {
  BUSBAR_ASSIGN(Cluster cluster, o.load ? o.load(o.cluster, overrides) : load_cluster(o.cluster, overrides));
  return predictor_on(o, std::move(cluster), nvls, accuracy);
}

Result<std::unique_ptr<Predictor>> predictor_on(const ExpectOptions& o, Cluster cluster, bool nvls,
                                                const AccuracyTable* accuracy) {
  const auto all = cluster.topology.gpus();
  const std::uint32_t n = o.gpus == 0 ? static_cast<std::uint32_t>(all.size()) : o.gpus;
  if (n < 2 || n > all.size())
    return invalid(fmt::format("{} GPUs, the machine has {}; a collective needs two", n, all.size()), {"", 0, 0, "-g"});
  const std::vector<DeviceId> gpus = first_gpus(cluster, n);
  PredictPolicy policy = o.policy;
  policy.engine = o.engine;
  if (!nvls) policy.env.emplace_back("NCCL_NVLS_ENABLE=0");
  policy.accuracy = accuracy;
  return Predictor::make(std::move(cluster), gpus, std::move(policy));
}

Status check_ranks(const MeasuredResults& results, const Predictor& machine) {
  if (results.ranks == 0 || results.ranks == machine.ranks()) return {};
  return invalid(fmt::format("the results are of {} ranks, the machine has {}; name a machine of as many, or with "
                             "--gpus the first GPUs that ran it",
                             results.ranks, machine.ranks()),
                 {"", 0, 0, "--cluster"});
}

Result<Expectation> expect_results(const MeasuredResults& results, const ExpectOptions& options) {
  constexpr double kRounding = 0.005;  // tables print four figures
  BUSBAR_ASSIGN(const AccuracyTable accuracy, AccuracyTable::load(Catalog(options.overrides.catalog)));
  BUSBAR_ASSIGN(const auto machine, predictor_of(options, options.overrides, true, &accuracy));
  BUSBAR_RETURN_IF_ERROR(check_ranks(results, *machine));
  Expectation out;
  out.inputs = machine->cluster().text;
  out.ranks = machine->ranks();
  out.launch = machine->protocol().launch;
  for (const MeasuredResult& m : results.rows) {
    if (options.go_on && !options.go_on(out.rows.size(), results.rows.size())) break;
    Result<Prediction> timed =
        machine->time(call_over(options.op, Bytes{m.size_bytes}, machine->ranks()), {.relief = false});
    if (stops(options.policy.stop)) break;
    BUSBAR_ASSIGN(const Prediction p, std::move(timed));
    const double us = p.time.in_us();
    ExpectedRow row{m.size_bytes,
                    m.us,
                    us,
                    std::max(us * (1 + p.band.low_percent / 100), p.floor.time.in_us()),
                    us * (1 + p.band.high_percent / 100),
                    p.floor.time.in_us(),
                    Verdict::kGood,
                    how_of(p),
                    limit_of(p, machine->cluster().topology)};
    if (m.us > row.high_us) row.verdict = Verdict::kLow;
    if (m.us < row.low_us) row.verdict = Verdict::kFast;
    if (m.us < row.floor_us * (1 - kRounding)) row.verdict = Verdict::kSuspicious;
    out.rows.push_back(std::move(row));
  }
  if (out.rows.empty()) return out;
  out.table = judge_table(out.rows);
  const bool complete = out.rows.size() == results.rows.size();
  if (out.table.verdict == Verdict::kLow && complete) {
    const auto low = [](const ExpectedRow& r) { return r.verdict == Verdict::kLow; };
    const auto worst = std::find_if(out.rows.rbegin(), out.rows.rend(), low);
    if (worst != out.rows.rend()) out.explanations = explain(options, *worst);
  }
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

}  // namespace busbar
