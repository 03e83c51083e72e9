#include "busbar/accuracy/leave_out.h"

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "busbar/accuracy/internal/counted_rows.h"

namespace busbar::accuracy {
namespace {

constexpr int kFromUs = 8, kToUs = 36, kStepUs = 2;

using RowTest = std::function<bool(const ScoredRow&)>;
using RowsAt = std::map<int, std::vector<ScoredRow>>;  // by launch, in us

double mean_error_without(const std::vector<ScoredRow>& rows, const RowTest& left) {
  double sum = 0;
  int n = 0;
  for (const ScoredRow& r : rows)
    if (!left(r)) sum += std::abs(r.error_percent()), ++n;
  return n == 0 ? 0 : sum / n;
}

/// The launch with the least mean error over all other rows.
int best_without(const RowsAt& at, const RowTest& left) {
  int best = at.begin()->first;
  for (const auto& [us, rows] : at)
    if (mean_error_without(rows, left) < mean_error_without(at.at(best), left)) best = us;
  return best;
}

WithoutSource leave_sources(const CsvTable& table, const std::vector<ScoredRow>& now, const RowsAt& at) {
  const auto source_of = [&table](const ScoredRow& r) -> const std::string& { return table.cell(r.row, "source_id"); };
  std::map<std::string, int> best;
  WithoutSource out;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::string& source = source_of(now[i]);
    if (!best.contains(source))
      best[source] = best_without(at, [&](const ScoredRow& r) { return source_of(r) == source; });
    out[now[i].row] = at.at(best[source])[i].predicted / now[i].predicted;
  }
  return out;
}

std::vector<ScoredRow> of_model(const std::vector<ScoredRow>& rows, const std::string& model) {
  std::vector<ScoredRow> out;
  for (const ScoredRow& r : rows)
    if (r.model == model) out.push_back(r);
  return out;
}

ErrorSummary errors_of(const std::vector<ScoredRow>& rows) {
  const Summary s = summarise(rows);
  return s.by_layers.empty() ? ErrorSummary() : s.by_layers.at("experts");
}

}  // namespace

Result<std::vector<ScoredRow>> counted_rows(const CsvTable& table, const ValidateOptions& options) {
  BUSBAR_ASSIGN(std::vector<ScoredRow> rows, validate(table, options));
  std::erase_if(rows, [](const ScoredRow& r) { return !r.counts || !r.unsupported.empty(); });
  return rows;
}

Result<LeftOutModels> leave_models_out(const CsvTable& table, const ValidateOptions& options) {
  ValidateOptions one = options;
  one.only += std::string(one.only.empty() ? "" : ",") + "moe=yes";
  BUSBAR_ASSIGN(const std::vector<std::size_t> asked, filter_rows(table, one.only));
  if (asked.empty()) return LeftOutModels();
  const auto trial = [&](std::optional<Duration> launch) -> Result<std::vector<ScoredRow>> {
    one.expert_launch = launch;
    return counted_rows(table, one);
  };
  LeftOutModels out;
  BUSBAR_ASSIGN(const std::vector<ScoredRow> now, trial({}));
  std::set<std::string> names;
  for (const ScoredRow& r : now) names.insert(r.model);
  if (names.size() < 2) return out;
  RowsAt at;
  for (int us = kFromUs; us <= kToUs; us += kStepUs) {
    BUSBAR_ASSIGN(at[us], trial(Duration::us(us)));
    if (at[us].size() != now.size()) return out;  // stopped
  }
  std::vector<ScoredRow> every;
  for (const std::string& name : names) {
    const int best = best_without(at, [&](const ScoredRow& r) { return r.model == name; });
    const std::vector<ScoredRow> left = of_model(at[best], name);
    out.models.push_back({name, errors_of(of_model(now, name)), Duration::us(best), errors_of(left)});
    every.insert(every.end(), left.begin(), left.end());
  }
  out.all = errors_of(every);
  out.without_source = leave_sources(table, now, at);
  return out;
}

}  // namespace busbar::accuracy
