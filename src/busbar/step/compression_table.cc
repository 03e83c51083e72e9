#include "busbar/step/compression_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "busbar/predict/prediction.h"
#include "busbar/spec/layout_file.h"
#include "busbar/topology/levels.h"

namespace busbar::step {
namespace {

constexpr int kHalvings = 8;  // of log2(16^2): within 2 %

struct Scheme {
  std::string name;
  std::uint32_t gradient_bytes = 4;
  workload::Compression compression;
};

/// The named ones of layouts (docs/models/step.md), and two more: PowerSGD 8 r / n for square matrices of n x
/// n (Vogels et al. 2019, arXiv:1905.13727, P and Q in fp32); top-k 4 bytes of value and 4 of index for each that is
/// chosen (Lin et al. 2018, arXiv:1712.01887). Work of the last two: gradient and error feedback read and written, the
/// products or the selection read them once more.
std::vector<Scheme> schemes_for(const workload::ModelSpec& model) {
  const auto named = [](const char* scheme) { return spec::compressed_gradient_bytes(scheme).value(); };
  constexpr double kRank = 4, kChosen = 0.01, kWithFeedback = 20;
  return {{"fp32", 4, {}},
          {"bf16", 2, {}},
          {"fp8 or int8", 4, {.bytes = named("int8")}},
          {"int4 (ZeRO++ qgZ)", 4, {.bytes = named("int4")}},
          {"one bit", 4, {.bytes = named("one_bit")}},
          {"top-k, 1 %", 4, {8 * kChosen, kWithFeedback, workload::CompressedExchange::kAllGather}},
          {"PowerSGD, rank 4", 4, {8 * kRank / model.hidden, kWithFeedback, workload::CompressedExchange::kAllReduce}}};
}

/// Link classes outside servers; of a machine without any, its scale-up links. The first one's rate.
std::vector<std::uint16_t> network_classes(const topology::Topology& t, CompressionTable& out) {
  std::vector<std::uint16_t> network, inside;
  const auto classes = t.link_classes();
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (!topology::is_in_server(classes[i].kind))
      (topology::is_scale_up(classes[i].kind) ? inside : network).push_back(static_cast<std::uint16_t>(i));
  const bool one = network.empty() || t.blocks().size() < 2;
  std::vector<std::uint16_t>& chosen = one ? inside : network;
  out.varied = one ? "the links between GPUs" : "the network";
  if (!chosen.empty()) out.rate_GBps = static_cast<double>(per_second(classes[chosen.front()].floor_rate())) / 1e9;
  return std::move(chosen);
}

double sent_for_data(const program::Program& p, const StepResult& step, std::uint32_t ranks) {
  double sum = 0;
  for (const CallUse& u : step.calls) {
    const program::CollectiveCall& c = p.calls[index(u.call)];
    if (u.cls == program::OpClass::kDp)
      sum += static_cast<double>(u.count) * c.groups.groups() * predict::sent_by_group(c.op, c.groups.size()) *
             static_cast<double>(count(c.bytes)) / ranks;
  }
  return sum;
}

Duration compressing(const program::Program& p) {
  Duration sum;
  const auto add = [&](const program::Op& o) {
    if (o.role == program::RoleId{0} && o.kind == program::OpKind::kDelay && p.labels[o.label] == "compress gradients")
      sum += o.duration;
  };
  for (const program::Op& o : p.ops) add(o);
  for (const program::PassUse& use : p.uses)
    if (use.role == program::RoleId{0})
      for (const program::Op& o : p.passes[use.pass].ops) add(o);
  return sum;
}

class BreakEven {
 public:
  BreakEven(const TrainRun& run, const program::Program& plain, std::vector<std::uint16_t> classes,
            const Context& context)
      : run_(run), plain_(plain), classes_(std::move(classes)), context_(context) {}

  /// The largest factor at which `compressed` is faster.
  Result<double> find(const program::Program& compressed) {
    const auto pays = [&](double factor) -> Result<bool> {
      BUSBAR_ASSIGN(const double with, seconds(compressed, factor));
      if (const auto known = plain_s_.find(factor); known != plain_s_.end()) return with < known->second;
      BUSBAR_ASSIGN(const double without, seconds(plain_, factor));
      plain_s_[factor] = without;
      return with < without;
    };
    double low = 1 / kMostRateFactor, high = kMostRateFactor;
    BUSBAR_ASSIGN(const bool at_all, pays(low));
    if (!at_all) return 0.0;
    BUSBAR_ASSIGN(const bool always, pays(high));
    if (always) return high;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = std::sqrt(low * high);
      BUSBAR_ASSIGN(const bool still, pays(middle));
      (still ? low : high) = middle;
    }
    return low;
  }

 private:
  Result<double> seconds(const program::Program& p, double factor) {
    ++done_;
    context_.go_on("rates", done_, std::max<std::size_t>(done_, 80));
    BUSBAR_ASSIGN(const StepResult step, step_of(run_, p, lowering::WhatIf{classes_, factor, 1.0, {}}));
    return step.step_time.in_s();
  }

  const TrainRun& run_;
  const program::Program& plain_;
  std::vector<std::uint16_t> classes_;
  const Context& context_;
  std::map<double, double> plain_s_;
  std::size_t done_ = 0;
};

}  // namespace

Result<CompressionTable> compare_compressions(const TrainRun& run, const Context& context) {
  if (run.layout.data_ranks() < 2 || run.layout.sharding.whole_tensors)
    return invalid("needs data parallelism, with gradients reduced in pieces", {"", 0, 0, "compressions"});
  CompressionTable out;
  std::vector<std::uint16_t> classes = network_classes(run.cluster().topology, out);
  program::Program plain;
  std::optional<BreakEven> even;
  for (const Scheme& s : schemes_for(run.scenario.model)) {
    if (context.stopped()) break;
    workload::LayoutSpec layout = run.layout;
    layout.exchange.compression = s.compression;
    layout.exchange.gradient_bytes = s.gradient_bytes;
    BUSBAR_ASSIGN(program::Program p, program_with(run, layout));
    BUSBAR_ASSIGN(const StepResult step, step_of(run, p));
    CompressionRow row;
    row.gradients = s.name;
    row.bytes = s.compression.bytes > 0 ? s.compression.bytes : s.gradient_bytes;
    row.sent_bytes = sent_for_data(p, step, run.layout.ranks());
    row.kernels_s = compressing(p).in_s();
    row.exposed_dp_s = step.breakdown.exposed_dp.in_s();
    row.step_time_s = step.step_time.in_s();
    if (out.rows.empty()) {
      plain = std::move(p);
      even.emplace(run, plain, classes, context);
    } else {
      row.gain_percent = 100 * (1 - row.step_time_s / out.rows.front().step_time_s);
      BUSBAR_ASSIGN(row.pays_below_factor, even->find(p));
      if (row.pays_below_factor > 0) row.pays_below_GBps = row.pays_below_factor * (out.rate_GBps * 1e9) / 1e9;
    }
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace busbar::step
