#include "busbar/cli/compare_calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "busbar/base/quantity.h"
#include "busbar/choice/fastest.h"
#include "busbar/cli/compare_report.h"
#include "busbar/cli/predict_flags.h"
#include "busbar/cli/session.h"
#include "busbar/collectives/algorithms.h"
#include "busbar/cost/money.h"
#include "busbar/predict/predictor.h"
#include "busbar/report/chart.h"
#include "busbar/report/style.h"
#include "busbar/step/machine.h"

namespace busbar {
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
  static Result<CallRunner> open(const CompareAsk& ask, const CompareVariant& v, const AccuracyTable& accuracy,
                                 const PriceList& prices) {
    CallRunner out;
    BUSBAR_ASSIGN(Cluster cluster, load_machine(v.machine, v.overrides));
    BUSBAR_ASSIGN(const MachineCost cost, machine_cost(cluster, prices, ask.cost.terms));
    out.row_ = {.machine = v.machine,
                .fabric = v.fabric.word,
                .algorithm = {},
                .how = {},
                .limit = {},
                .band = {},
                .refused = {}};
    out.row_.gpus = v.gpus > 0 ? v.gpus : static_cast<std::uint32_t>(cluster.topology.gpus().size());
    out.row_.power_w = cost.sums.power_w;
    if (cost.sums.complete()) out.row_.capex_usd = cost.sums.all.middle();
    PredictPolicy policy{.engine = ask.train.engine};
    policy.stop = LongRun::flag();
    BUSBAR_RETURN_IF_ERROR(read_predict_options(ask.train.predict, Catalog(ask.input.overrides.catalog), policy));
    policy.accuracy = &accuracy;
    BUSBAR_ASSIGN(out.machine_, Predictor::make(std::move(cluster), {}, std::move(policy)));
    return out;
  }

  Result<CallRow> time(const CallsAsk& calls, const std::string& algorithm, Bytes size) {
    CallRow row = row_;
    row.algorithm = algorithm;
    row.size = size;
    row.op = calls.op;
    CollectiveCall call = call_over(calls.op, size, row.gpus);
    call.algorithm = algorithm;
    if (calls.usual && takes_long(call)) {
      row.refused = "left out: it needs too many routes; name it with --algorithms";
      return row;
    }
    const Result<Prediction> p = machine_->time(call, {.floor = false, .relief = false});
    if (!p.ok() && (calls.algorithms.size() == 1 || p.error().code != ErrorCode::kUnsupported)) return p.error();
    if (!p.ok()) {
      row.refused = p.error().message;
      return row;
    }
    row.time_s = p->time.in_s();
    row.busbw = p->algbw() * bus_factor(calls.op, row.gpus);
    row.how = how_of(*p);
    row.limit = limit_of(*p, machine_->cluster().topology);
    row.band = p->band;
    return row;
  }

 private:
  /// Whether "auto" would leave the algorithm out for its work.
  bool takes_long(const CollectiveCall& call) {
    if (!left_out_) left_out_ = legal_algorithms(call, machine_->placement(), machine_->cluster().topology).left_out;
    return std::any_of(left_out_->begin(), left_out_->end(),
                       [&](const std::string& s) { return s.starts_with(call.algorithm + " "); });
  }

  CallRow row_;
  std::unique_ptr<Predictor> machine_;
  std::optional<std::vector<std::string>> left_out_;  ///< of its calls, which differ in their sizes alone
};

std::string name_of(const CallRow& r, bool algorithms) {
  std::string out = r.machine;
  if (!r.fabric.empty()) out += ", " + r.fabric;
  if (algorithms) out += ", " + r.algorithm;
  return out;
}

/// Closer than the band of the difference: 2 % on one kind of server, an assumption (compare_run.cc).
bool ties(const CallRow& a, const CallRow& b) {
  const double apart = 100 * (std::max(a.time_s, b.time_s) / std::min(a.time_s, b.time_s) - 1);
  return apart < band_of_difference(a.machine, a.band, b.machine, b.band);
}

Table size_table(const std::vector<const CallRow*>& rows, bool algorithms) {
  Table t{format_binary_size(count(rows[0]->size)),
          {to_left(""), to_left("machine"), "time", "time (%)", "busbw (GB/s)", "price", "power", to_left("how"),
           to_left("")}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CallRow& r = *rows[i];
    const bool first = i == 0 || rows[0]->time_s <= 0;
    std::string same;
    for (std::size_t k = 0; k < i && r.refused.empty(); ++k)
      if (rows[k]->refused.empty() && ties(*rows[k], r)) same += (same.empty() ? "tie with " : ", ") + letter_of(k);
    if (!r.refused.empty()) {
      t.rows.push_back({letter_of(i), name_of(r, algorithms), "-", "-", "-", "-", "-", "cannot run it", ""});
      continue;
    }
    t.rows.push_back({letter_of(i), name_of(r, algorithms), format_duration(r.time_s),
                      first ? "-" : fmt::format("{:+.1f}", 100 * (r.time_s / rows[0]->time_s - 1)),
                      format_number(r.busbw), r.capex_usd > 0 ? dollars(r.capex_usd) : "-",
                      r.power_w > 0 ? rating_text(r.power_w) : "-", r.how, same});
  }
  return t;
}

/// The fastest of the algorithms per number of GPUs (rows) and size (columns), on one machine and fabric.
Table winners(const CallRows& rows, const CallsAsk& calls) {
  Table t{"The fastest algorithm and its time", {"GPUs"}};
  for (const Bytes size : calls.sizes) t.columns.push_back({format_binary_size(count(size))});
  for (std::uint64_t n = calls.from; n <= calls.to; n *= 2) {
    std::vector<std::string> cells{std::to_string(n)};
    for (const Bytes size : calls.sizes) {
      const CallRow* best = nullptr;
      for (const CallRow& r : rows)
        if (r.gpus == n && r.size == size && r.refused.empty() && (best == nullptr || r.time_s < best->time_s))
          best = &r;
      cells.push_back(best == nullptr ? "-" : fmt::format("{} {}", best->algorithm, format_duration(best->time_s)));
    }
    t.rows.push_back(std::move(cells));
  }
  return t;
}

/// Time against the number of GPUs, an algorithm per column.
Table times_by_gpus(const CallRows& rows, const CallsAsk& calls, Bytes size) {
  Table t{fmt::format("Time of {} by GPUs", format_binary_size(count(size))), {"GPUs"}};
  for (const std::string& a : calls.algorithms) t.columns.push_back({a});
  for (std::uint64_t n = calls.from; n <= calls.to; n *= 2) {
    std::vector<std::string> cells{std::to_string(n)};
    for (const std::string& a : calls.algorithms) {
      const auto at = std::find_if(rows.begin(), rows.end(), [&](const CallRow& r) {
        return r.gpus == n && r.algorithm == a && r.size == size && r.refused.empty();
      });
      cells.push_back(at == rows.end() ? "-" : format_duration(at->time_s));
    }
    t.rows.push_back(std::move(cells));
  }
  return t;
}

/// Time against the number of GPUs, a curve per algorithm.
Drawing draw_times(const CallRows& rows, const CallsAsk& calls, Bytes size) {
  constexpr int kColours[] = {colour::kCompute, colour::kTp, colour::kDp, colour::kPp, colour::kOptimizer};
  Chart chart;
  chart.title = fmt::format("Time of {} by GPUs", format_binary_size(count(size)));
  chart.description = "Time of one call against the number of GPUs, a curve per algorithm, both axes logarithmic.";
  chart.x = {"GPUs", AxisUnit::kCount, true};
  chart.y = {"time", AxisUnit::kSeconds, true};
  for (const std::string& a : calls.algorithms) {
    ChartSeries curve{.name = a, .colour = kColours[chart.series.size() % std::size(kColours)]};
    for (const CallRow& r : rows)
      if (r.algorithm == a && r.size == size && r.refused.empty())
        curve.points.push_back({static_cast<double>(r.gpus), r.time_s,
                                fmt::format("{} GPUs, {}: {}", r.gpus, a, format_duration(r.time_s))});
    chart.series.push_back(std::move(curve));
  }
  return draw_chart(chart);
}

std::string name_in_words(const std::vector<const CallRow*>& rows, std::size_t i, bool algorithms) {
  return fmt::format("{} ({})", name_of(*rows[i], algorithms), letter_of(i));
}

/// Of one size: the shortest time, what ties with it, and how much longer the longest takes. Empty: all are refused.
std::string winner_in_words(Collective op, const std::vector<const CallRow*>& rows, bool algorithms) {
  std::vector<std::size_t> ran, tied;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i]->refused.empty()) ran.push_back(i);
  if (ran.empty()) return "";
  const auto [best, worst] = std::minmax_element(
      ran.begin(), ran.end(), [&](std::size_t a, std::size_t b) { return rows[a]->time_s < rows[b]->time_s; });
  for (const std::size_t i : ran)
    if (i == *best || ties(*rows[i], *rows[*best])) tied.push_back(i);
  const CallRow& first = *rows[*best];
  std::string out = fmt::format("{} of {} takes {} on {}", name_of(op), format_binary_size(count(first.size)),
                                format_duration(first.time_s), name_in_words(rows, *best, algorithms));
  if (tied.size() == ran.size() && ran.size() > 1)
    return out + ". All tie: they are closer than the band of their difference.";
  if (tied.size() > 1)
    out += ", which ties with " + (tied.size() > 2 ? fmt::format("{} others", tied.size() - 1)
                                                   : name_in_words(rows, tied[tied[0] == *best ? 1 : 0], algorithms));
  if (*worst != *best && first.time_s > 0)
    out += fmt::format(", and {:.2g} times as long on {}", rows[*worst]->time_s / first.time_s,
                       name_in_words(rows, *worst, algorithms));
  return out + ".";
}

void add_map(const CallRows& all, const CallsAsk& calls, Document& d) {
  std::vector<std::string> names;  // of machine and fabric, in order
  const auto name = [](const CallRow& r) { return r.machine.substr(0, r.machine.find(':')) + " " + r.fabric; };
  for (const CallRow& r : all)
    if (std::find(names.begin(), names.end(), name(r)) == names.end()) names.push_back(name(r));
  for (const std::string& one : names) {
    CallRows rows;
    for (const CallRow& r : all)
      if (name(r) == one) rows.push_back(r);
    CallsAsk shown = calls;
    const auto runs = [&](const std::string& a) {
      return std::any_of(rows.begin(), rows.end(),
                         [&](const CallRow& r) { return r.algorithm == a && r.refused.empty(); });
    };
    if (calls.usual) std::erase_if(shown.algorithms, [&](const std::string& a) { return !runs(a); });
    if (names.size() > 1) d.add(Heading{one});
    if (calls.sizes.size() > 1) d.add(winners(rows, shown));
    d.add(draw_times(rows, shown, calls.sizes.back()), Audience::kPage);
    d.add(times_by_gpus(rows, shown, calls.sizes.back()));
  }
}

}  // namespace

std::vector<std::string> usual_algorithms(Collective op) {
  std::vector<std::string> usual, all;
  for (const RegisteredAlgorithm& a : algorithms()) {
    if ((a.ops & set_of(op)) == 0) continue;
    all.emplace_back(a.name);
    if (a.traits.customary || (a.traits.reduces_in_network && !a.traits.reduces_in_fabric)) usual.emplace_back(a.name);
  }
  return usual.size() < 2 ? all : usual;
}

Result<std::vector<CallRow>> run_calls(const CompareAsk& ask, const CallsAsk& calls, LongRun& watch) {
  BUSBAR_ASSIGN(const std::vector<CompareVariant> machines, machines_of(ask, calls));
  const Catalog catalog(ask.input.overrides.catalog);
  BUSBAR_ASSIGN(const AccuracyTable accuracy, AccuracyTable::load(catalog));
  BUSBAR_ASSIGN(const PriceList prices, PriceList::open(catalog, ask.cost.prices));
  const std::size_t all = machines.size() * calls.sizes.size() * calls.algorithms.size();
  CallRows out;
  for (const CompareVariant& v : machines) {
    if (!watch.go_on(out.size(), all)) return out;
    BUSBAR_ASSIGN(CallRunner runner, CallRunner::open(ask, v, accuracy, prices));
    for (const std::string& algorithm : calls.algorithms) {
      for (const Bytes size : calls.sizes) {
        if (!watch.go_on(out.size(), all)) return out;
        Result<CallRow> row = runner.time(calls, algorithm, size);
        if (!row.ok() && watch.interrupted()) return out;
        if (!row.ok()) return row.error();
        out.push_back(std::move(*row));
      }
    }
  }
  watch.go_on(out.size(), all);
  return out;
}

Json calls_json(const CallRows& rows, const CallsAsk& calls, const CommonOptions& common) {
  Json j{{"schema", "busbar.compare/1"},
         {"collective", name_of(calls.op)},
         {"engine", common.engine},
         {"inputs_hash", inputs_hash(common)},
         {"rows", Json::array()}};
  for (const CallRow& r : rows) {
    Json row{{"machine", r.machine},
             {"fabric", r.fabric.empty() ? Json(nullptr) : Json(r.fabric)},
             {"gpus", r.gpus},
             {"asked_algorithm", r.algorithm},
             {"size_bytes", count(r.size)}};
    if (!r.refused.empty()) {
      row["refused"] = r.refused;
      j["rows"].push_back(std::move(row));
      continue;
    }
    row["time_us"] = r.time_s * 1e6;
    row["busbw_GBps"] = r.busbw;
    row["how"] = r.how;
    row["limit"] = r.limit;
    row["capex_usd"] = r.capex_usd > 0 ? Json(r.capex_usd) : Json(nullptr);
    row["power_w"] = r.power_w;
    row["band_percent"] = Json::array({r.band.low_percent, r.band.high_percent});
    row["band_basis"] = r.band.basis;
    j["rows"].push_back(std::move(row));
  }
  return j;
}

Document calls_document(const CallRows& rows, const CallsAsk& calls, const std::string& typed) {
  Document d{fmt::format("{} side by side", name_of(calls.op)), typed, {}};
  if (calls.from > 0) {
    add_map(rows, calls, d);
    return d;
  }
  std::string answer;  // for the last size
  for (const Bytes size : calls.sizes) {
    std::vector<const CallRow*> some;
    for (const CallRow& r : rows)
      if (r.size == size) some.push_back(&r);
    if (some.empty()) continue;
    answer = winner_in_words(calls.op, some, calls.algorithms.size() > 1);
    d.add(size_table(some, calls.algorithms.size() > 1));
  }
  if (!answer.empty() && rows.size() > 1) d.add(Highlight{answer});
  return d;
}

}  // namespace busbar
