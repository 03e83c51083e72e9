#include "busbar/questions/compare_calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "busbar/choice/fastest.h"
#include "busbar/collectives/algorithms.h"
#include "busbar/predict/predictor.h"
#include "busbar/step/machine.h"

namespace busbar::questions {
namespace {

using CallRows = std::vector<CallRow>;

/// The machines of a command with their numbers of GPUs: each as typed, or in each size of --scale.
Result<std::vector<CompareVariant>> machines_of(const CompareAsk& ask, const CallsAsk& calls) {
  std::vector<CompareVariant> out;
  if (calls.from == 0) {
    BUSBAR_ASSIGN(out, compare_variants(ask));
    for (CompareVariant& v : out) v.gpus = ask.gpus;
    return out;
  }
  for (std::uint64_t n = calls.from; n <= calls.to; n *= 2) {
    CompareAsk sized = ask;
    sized.gpus = static_cast<std::uint32_t>(n);
    BUSBAR_ASSIGN(std::vector<CompareVariant> some, compare_variants(sized));
    for (CompareVariant& v : some) {
      v.gpus = sized.gpus;
      out.push_back(std::move(v));
    }
  }
  return out;
}

/// One machine with its predictor.
class CallRunner {
 public:
  static Result<CallRunner> open(const CompareAsk& ask, const CompareVariant& v, const predict::AccuracyTable& accuracy,
                                 const spec::PriceList& prices) {
    CallRunner out;
    BUSBAR_ASSIGN(spec::Cluster cluster, step::load_machine(v.machine, v.overrides));
    BUSBAR_ASSIGN(const MachineCost cost, machine_cost(cluster, prices, ask.cost.terms));
    out.row_ = {.machine = v.machine,
                .fabric = v.fabric.word,
                .algorithm = {},
                .how = {},
                .limit = {},
                .band = {},
                .refused = {}};
    out.packets_ = v.fabric.packets;
    out.catalog_ = ask.input.overrides.catalog;
    out.row_.gpus = v.gpus > 0 ? v.gpus : static_cast<std::uint32_t>(cluster.topology.gpus().size());
    out.row_.power_w = cost.sums.power_w;
    if (cost.sums.complete()) out.row_.capex_usd = cost.sums.all.middle();
    predict::PredictPolicy policy{.engine = ask.train.engine};
    policy.stop = ask.train.stop;
    BUSBAR_RETURN_IF_ERROR(
        predict::read_predict_options(ask.train.predict, spec::Catalog(ask.input.overrides.catalog), policy));
    policy.accuracy = &accuracy;
    BUSBAR_ASSIGN(out.machine_, predict::Predictor::make(std::move(cluster), {}, std::move(policy)));
    return out;
  }

  Result<CallRow> time(const CallsAsk& calls, const std::string& algorithm, Bytes size) {
    CallRow row = row_;
    row.algorithm = algorithm;
    row.size = size;
    row.op = calls.op;
    program::CollectiveCall call = predict::call_over(calls.op, size, row.gpus);
    call.algorithm = algorithm;
    if (calls.usual && takes_long(call)) {
      row.refused = "left out: it needs too many routes; name it with --algorithms";
      return row;
    }
    const Result<predict::Prediction> p = machine_->time(call, {.floor = false, .relief = false});
    if (!p.ok() && (calls.algorithms.size() == 1 || p.error().code != ErrorCode::kUnsupported)) return p.error();
    if (!p.ok()) {
      row.refused = p.error().message;
      return row;
    }
    row.time_s = p->time.in_s();
    row.busbw = p->algbw() * predict::bus_factor(calls.op, row.gpus);
    row.how = predict::how_of(*p);
    if (packets_) BUSBAR_RETURN_IF_ERROR(send(call, row));
    row.limit = predict::limit_of(*p, machine_->cluster().topology);
    row.band = p->band;
    return row;
  }

 private:
  /// Whether "auto" would leave the algorithm out for its work.
  bool takes_long(const program::CollectiveCall& call) {
    if (!left_out_)
      left_out_ = choice::legal_algorithms(call, machine_->placement(), machine_->cluster().topology).left_out;
    return std::any_of(left_out_->begin(), left_out_->end(),
                       [&](const std::string& s) { return s.starts_with(call.algorithm + " "); });
  }

  Status send(const program::CollectiveCall& call, CallRow& row) {
    BUSBAR_ASSIGN(const program::CollectiveCall prepared, machine_->prepare(call));
    const double even_s = row.time_s;
    BUSBAR_ASSIGN(row.packets, send_packets(*packets_, *machine_, prepared, catalog_, row.time_s));
    row.busbw *= even_s / row.time_s;
    return {};
  }

  CallRow row_;
  std::optional<spec::FabricPackets> packets_;
  std::string catalog_;  ///< a directory, or empty
  std::unique_ptr<predict::Predictor> machine_;
  std::optional<std::vector<std::string>> left_out_;  ///< of its calls, which differ in their sizes alone
};

}  // namespace

std::vector<std::string> usual_algorithms(collectives::Collective op) {
  std::vector<std::string> usual, all;
  for (const collectives::RegisteredAlgorithm& a : collectives::algorithms()) {
    if ((a.ops & collectives::set_of(op)) == 0) continue;
    all.emplace_back(a.name);
    if (a.traits.customary || (a.traits.reduces_in_network && !a.traits.reduces_in_fabric)) usual.emplace_back(a.name);
  }
  return usual.size() < 2 ? all : usual;
}

Result<std::vector<CallRow>> run_calls(const CompareAsk& ask, const CallsAsk& calls, const Context& context) {
  BUSBAR_ASSIGN(const std::vector<CompareVariant> machines, machines_of(ask, calls));
  const spec::Catalog catalog(ask.input.overrides.catalog);
  BUSBAR_ASSIGN(const predict::AccuracyTable accuracy, predict::AccuracyTable::load(catalog));
  BUSBAR_ASSIGN(const spec::PriceList prices, spec::PriceList::open(catalog, ask.cost.prices));
  const std::size_t all = machines.size() * calls.sizes.size() * calls.algorithms.size();
  CallRows out;
  for (const CompareVariant& v : machines) {
    if (!context.go_on("times", out.size(), all)) return out;
    BUSBAR_ASSIGN(CallRunner runner, CallRunner::open(ask, v, accuracy, prices));
    for (const std::string& algorithm : calls.algorithms) {
      for (const Bytes size : calls.sizes) {
        if (!context.go_on("times", out.size(), all)) return out;
        Result<CallRow> row = runner.time(calls, algorithm, size);
        if (!row.ok() && context.stopped()) return out;
        if (!row.ok()) return row.error();
        out.push_back(std::move(*row));
      }
    }
  }
  context.go_on("times", out.size(), all);
  return out;
}

}  // namespace busbar::questions
