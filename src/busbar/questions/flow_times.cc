#include "busbar/questions/flow_times.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace busbar::questions {
namespace {

struct SizeClass {
  const char* name;
  double from, to;  ///< bytes; `to` is not in it
};
// The classes of docs/models/packet.md, half a decade and more each.
constexpr SizeClass kClasses[] = {{"below 30 kB", 0, 30e3},
                                  {"30 to 300 kB", 30e3, 300e3},
                                  {"0.3 to 3 MB", 300e3, 3e6},
                                  {"3 MB and more", 3e6, INFINITY}};

/// The least member that a share `share` of `ascending` does not exceed. Pre: not empty.
double quantile(const std::vector<double>& ascending, double share) {
  const auto n = static_cast<double>(ascending.size());
  const double at = std::ceil(share * n - 1e-9 * n) - 1;
  return ascending[static_cast<std::size_t>(std::clamp(at, 0.0, n - 1))];
}

double mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

struct ClassTimes {
  std::vector<double> fct_us, slowdown;  ///< ascending
  predict::SizePenalty by;               ///< the mean of all its flows; of the quantiles at the mean of log(bytes)
};

ClassTimes times_of(const std::vector<TimedFlow>& flows, const SizeClass& c, const predict::Penalties* penalties) {
  ClassTimes out;
  double log_bytes = 0, sum = 0, sum_with = 0;
  for (const TimedFlow& f : flows) {
    if (static_cast<double>(f.bytes) < c.from || static_cast<double>(f.bytes) >= c.to) continue;
    out.fct_us.push_back(f.fct_us);
    out.slowdown.push_back(f.slowdown);
    if (penalties == nullptr) continue;
    const auto bytes = static_cast<double>(std::max<std::uint64_t>(1, f.bytes));
    log_bytes += std::log(bytes);
    sum += f.fct_us;
    sum_with += penalties->of(bytes).mean * f.fct_us;
  }
  if (penalties != nullptr && sum > 0) {
    out.by = penalties->of(std::exp(log_bytes / static_cast<double>(out.fct_us.size())));
    out.by.mean = sum_with / sum;
  }
  std::sort(out.slowdown.begin(), out.slowdown.end());
  return out;
}

FctQuantiles quantiles_of(const std::vector<double>& x, const predict::SizePenalty& by) {
  return {by.mean * mean(x), by.p50 * quantile(x, 0.5), by.p99 * quantile(x, 0.99)};
}

}  // namespace

FlowTimes::FlowTimes(std::vector<TimedFlow> flows) : flows_(std::move(flows)) {
  std::stable_sort(flows_.begin(), flows_.end(), [](const auto& a, const auto& b) { return a.fct_us < b.fct_us; });
}

std::vector<CdfPoint> FlowTimes::cdf() const {
  std::vector<double> fct;
  for (const TimedFlow& f : flows_) fct.push_back(f.fct_us);
  std::vector<CdfPoint> out;
  for (const double percent : {1., 5., 10., 25., 50., 75., 90., 95., 99., 99.9, 100.})
    if (!fct.empty()) out.push_back({percent, quantile(fct, percent / 100)});
  return out;
}

std::vector<FctOfSize> FlowTimes::by_size(const predict::Penalties* penalties) const {
  std::vector<FctOfSize> out;
  for (const SizeClass& c : kClasses) {
    const ClassTimes times = times_of(flows_, c, penalties);
    if (times.fct_us.empty()) continue;
    FctOfSize& one = out.emplace_back();
    one.from_bytes = static_cast<std::uint64_t>(c.from);
    if (!std::isinf(c.to)) one.to_bytes = static_cast<std::uint64_t>(c.to);
    one.flows = times.fct_us.size();
    one.fct_us = quantiles_of(times.fct_us, times.by);
    if (penalties == nullptr) one.slowdown = quantiles_of(times.slowdown, {});
    one.name = c.name;
  }
  return out;
}

double FlowTimes::mean_us(const std::vector<FctOfSize>& by_size) const {
  double sum = 0;
  for (const FctOfSize& c : by_size) sum += c.fct_us.mean * static_cast<double>(c.flows);
  return sum / static_cast<double>(flows_.size());
}

std::string FlowTimes::csv() const {
  std::string out = "fct_us,percent,slowdown,bytes\n";
  for (std::size_t i = 0; i < flows_.size(); ++i)
    out += fmt::format("{},{:.6g},{:.6g},{}\n", flows_[i].fct_us,
                       100 * static_cast<double>(i + 1) / static_cast<double>(flows_.size()), flows_[i].slowdown,
                       flows_[i].bytes);
  return out;
}

PenaltiesResult penalties_result(const predict::Penalties& p) {
  PenaltiesResult out{
      p.transport,       p.balance,    p.use.load, p.use.crossing,
      p.use.cable_bytes, p.size_scale, {},         fmt::format("catalog penalties/{}-{}", p.transport, p.balance)};
  for (const predict::SizePenalty& c : p.by_size) out.by_size.push_back({c.mean, c.p50, c.p99});
  return out;
}

const Record& record_of(const FctQuantiles*) {
  static const Record record("times", {{"mean", &FctQuantiles::mean, "", "of all"},
                                       {"p50", &FctQuantiles::p50, "", "half of them are below"},
                                       {"p99", &FctQuantiles::p99, "", "99 of 100 are below"}});
  return record;
}

const Record& record_of(const CdfPoint*) {
  static const Record record("point", {{"percent", &CdfPoint::percent, "%", "of the flows"},
                                       {"fct_us", &CdfPoint::fct_us, "us", "took at most so long"}});
  return record;
}

const Record& record_of(const FctOfSize*) {
  using F = FctOfSize;
  static const Record record("size", {{"from_bytes", &F::from_bytes, "bytes", "the smallest"},
                                      {"to_bytes", &F::to_bytes, "bytes", "below this; null: any"},
                                      {"flows", &F::flows, "", "of these sizes"},
                                      {"fct_us", &F::fct_us, "us", "completion times"},
                                      {"slowdown", &F::slowdown, "", "divided by the times alone; null: unknown"}});
  return record;
}

const Record& record_of(const MeanTime*) {
  static const Record record("time", {{"mean", &MeanTime::mean, "us", "of all flows"}});
  return record;
}

const Record& record_of(const PenaltiesResult*) {
  using P = PenaltiesResult;
  static const Record record("penalties",
                             {{"transport", &P::transport, "", "whose penalties they are"},
                              {"lb", &P::lb, "", "how packets take paths"},
                              {"load", &P::load, "", "of the kind of link that carries most"},
                              {"crossing", &P::crossing, "", "share of bytes that cross links between switches"},
                              {"cable_bytes", &P::cable_bytes, "bytes", "that a host's cable carries"},
                              {"size_scale", &P::size_scale, "", "of a flow, against the tabulated network"},
                              {"by_size", &P::by_size, "", "factors of each class of sizes"},
                              {"source", &P::source, "", "entry of the catalogue"}});
  return record;
}

}  // namespace busbar::questions
