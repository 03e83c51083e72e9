#include "busbar/accuracy/leave_out.h"

#include <cmath>
#include <map>
#include <set>

#include "busbar/accuracy/internal/counted_rows.h"

namespace busbar::accuracy {
namespace {

constexpr int kFromUs = 8, kToUs = 36, kStepUs = 2;

double mean_error_without(const std::vector<ScoredRow>& rows, const std::string& model) {
  double sum = 0;
  int n = 0;
  for (const ScoredRow& r : rows)
    if (r.model != model) sum += std::abs(r.error_percent()), ++n;
  return n == 0 ? 0 : sum / n;
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
  std::map<int, std::vector<ScoredRow>> at;
  for (int us = kFromUs; us <= kToUs; us += kStepUs) {
    BUSBAR_ASSIGN(at[us], trial(Duration::us(us)));
    if (at[us].size() != now.size()) return out;  // stopped
  }
  std::vector<ScoredRow> every;
  for (const std::string& name : names) {
    int best = kFromUs;
    for (const auto& [us, rows] : at)
      if (mean_error_without(rows, name) < mean_error_without(at[best], name)) best = us;
    const std::vector<ScoredRow> left = of_model(at[best], name);
    out.models.push_back({name, errors_of(of_model(now, name)), Duration::us(best), errors_of(left)});
    every.insert(every.end(), left.begin(), left.end());
  }
  out.all = errors_of(every);
  return out;
}

}  // namespace busbar::accuracy
