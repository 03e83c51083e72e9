#include "busbar/accuracy/expect.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "busbar/accuracy/summary.h"
#include "busbar/base/quantity.h"
#include "busbar/spec/protocol_file.h"

namespace busbar {
namespace {

/// Something that may be wrong with a machine, as a change to its file.
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

/// A cluster file for a preset; for a file of the user's own, what to put in place of its `protocol`.
std::string overlay_of(const std::string& cluster, const ProtocolModel& p) {
  std::string out = "# Fitted to measured results by busbar calibrate\n";
  if (cluster.find(".y") == std::string::npos && cluster.find('/') == std::string::npos) {
    const std::size_t colon = cluster.find(':');
    out += fmt::format("name: {0}-calibrated\nnode: {0}\nnodes: {1}\n", cluster.substr(0, colon),
                       colon == std::string::npos ? "1" : cluster.substr(colon + 1));
  }
  return out + protocol_yaml(p);
}

Result<Prediction> time_alone(Predictor& machine, Collective op, std::uint64_t bytes) {
  return machine.time(call_over(op, Bytes{bytes}, machine.ranks()), kTimeAlone);
}

/// Suspicions under which the size would take what was measured.
std::vector<std::string> explain(const ExpectOptions& o, const ExpectedRow& row) {
  constexpr double kNear = 0.2;       // of the measurement
  constexpr double kDifferent = 0.1;  // what a suspicion must change to explain anything
  std::vector<std::string> out;
  for (const Suspicion& s : suspicions()) {
    Overrides overrides = o.overrides;
    overrides.set.insert(overrides.set.end(), s.set.begin(), s.set.end());
    overrides.degrade.insert(overrides.degrade.end(), s.degrade.begin(), s.degrade.end());
    const auto made = predictor_of(o, overrides, s.nvls);
    if (!made.ok()) continue;  // a machine without such a part
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
  BUSBAR_ASSIGN(Cluster cluster, load_cluster(o.cluster, overrides));
  const auto all = cluster.topology.gpus();
  const std::uint32_t n = o.gpus == 0 ? static_cast<std::uint32_t>(all.size()) : o.gpus;
  if (n < 2 || n > all.size())
    return invalid(fmt::format("{} GPUs, the machine has {}; a collective needs two", n, all.size()), {"", 0, 0, "-g"});
  const std::vector<DeviceId> gpus = first_gpus(cluster, n);
  PredictPolicy policy = o.policy;
  policy.engine = o.engine;
  policy.nvls = nvls;
  policy.accuracy = accuracy;
  return Predictor::make(std::move(cluster), gpus, std::move(policy));
}

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "good";
    case Verdict::kLow:
      return "low";
    case Verdict::kSuspicious:
      return "suspicious";
  }
  return "?";
}

Result<Expectation> expect_results(const MeasuredResults& results, const ExpectOptions& options) {
  BUSBAR_ASSIGN(const AccuracyTable accuracy, AccuracyTable::load(Catalog(options.overrides.catalog)));
  BUSBAR_ASSIGN(const auto machine, predictor_of(options, options.overrides, true, &accuracy));
  Expectation out;
  out.inputs = machine->cluster().text;
  out.ranks = machine->ranks();
  out.launch = machine->protocol().launch;
  const ExpectedRow* worst = nullptr;
  for (const MeasuredResult& m : results.rows) {
    if (options.go_on && !options.go_on(out.rows.size(), results.rows.size())) break;
    BUSBAR_ASSIGN(const Prediction p,
                  machine->time(call_over(options.op, Bytes{m.size_bytes}, machine->ranks()), {.relief = false}));
    const double us = p.time.in_us();
    ExpectedRow row{m.size_bytes,
                    m.us,
                    us,
                    std::max(us * (1 + p.band.low_percent / 100), p.floor.time.in_us()),
                    us * (1 + p.band.high_percent / 100),
                    Verdict::kGood,
                    how_of(p),
                    limit_of(p, machine->cluster().topology)};
    if (m.us > row.high_us) row.verdict = Verdict::kLow;
    if (m.us < row.low_us) row.verdict = Verdict::kSuspicious;
    out.rows.push_back(std::move(row));
  }
  for (const ExpectedRow& row : out.rows)
    if (row.verdict != Verdict::kGood) worst = &row;
  if (worst != nullptr) {
    out.verdict = worst->verdict;
    const bool complete = out.rows.size() == results.rows.size();
    if (worst->verdict == Verdict::kLow && complete) out.explanations = explain(options, *worst);
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

Result<Calibration> calibrate(const MeasuredResults& results, const ExpectOptions& options) {
  constexpr std::uint64_t kSmall = 64 << 10, kLarge = 16 << 20;
  constexpr double kBrokenShare = 0.7, kBrokenLaunchUs = 100;
  BUSBAR_ASSIGN(const auto machine, predictor_of(options, options.overrides));
  Calibration out;
  std::vector<double> errors, late, shares;
  for (const MeasuredResult& m : results.rows) {
    BUSBAR_ASSIGN(const Prediction p, time_alone(*machine, options.op, m.size_bytes));
    const double us = p.time.in_us();
    errors.push_back(std::abs(us / m.us - 1) * 100);
    if (m.size_bytes <= kSmall) late.push_back(m.us - us);
    if (m.size_bytes >= kLarge) shares.push_back(us / m.us);
  }
  out.before_percent = out.after_percent = median_of(errors);
  const ProtocolModel& model = machine->protocol();
  out.launch_us = std::max(0.0, model.launch.in_us() + (late.empty() ? 0 : median_of(late)));
  out.share = shares.empty() ? 1 : median_of(shares);
  Cluster fitted = machine->cluster();
  fitted.protocol.launch = Duration::ps(std::llround(out.launch_us * 1e6));
  for (double* share : {&fitted.protocol.share_scale_up, &fitted.protocol.share_server, &fitted.protocol.share_switch,
                        &fitted.protocol.share_network})
    *share = std::clamp(*share * out.share, 0.001, 1.0);
  out.overlay = overlay_of(options.cluster, fitted.protocol);
  out.inputs = fitted.text;
  const auto gpus = first_gpus(fitted, machine->ranks());
  PredictPolicy policy = options.policy;
  policy.engine = options.engine;
  policy.launch.reset();  // the fitted one
  BUSBAR_ASSIGN(const auto after, Predictor::make(std::move(fitted), gpus, std::move(policy)));
  errors.clear();
  for (const MeasuredResult& m : results.rows) {
    BUSBAR_ASSIGN(const Prediction p, time_alone(*after, options.op, m.size_bytes));
    errors.push_back(std::abs(p.time.in_us() / m.us - 1) * 100);
  }
  out.after_percent = median_of(errors);
  if (late.empty() && shares.empty()) {
    out.verdict = "too little to fit";
    out.why = "there is no size below 64 KiB and none of 16 MiB or more";
  } else if (out.share < kBrokenShare) {
    out.verdict = "broken machine";
    out.why = fmt::format("large sizes reach {:.0f} % of what this machine gives when it is well; find the fault first",
                          out.share * 100);
  } else if (out.launch_us > model.launch.in_us() + kBrokenLaunchUs) {
    out.verdict = "broken machine";
    out.why = fmt::format("small sizes take {:.0f} us longer than they should; find the fault first",
                          out.launch_us - model.launch.in_us());
  } else {
    out.verdict = "fits";
    out.why = fmt::format("{:.0f} % of the expected bandwidth, {:.1f} us before the first byte", out.share * 100,
                          out.launch_us);
  }
  return out;
}

}  // namespace busbar
