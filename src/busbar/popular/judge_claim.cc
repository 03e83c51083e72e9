#include <algorithm>
#include <map>
#include <utility>

#include "busbar/popular/claim.h"
#include "busbar/popular/internal/formula.h"
#include "busbar/popular/internal/json_path.h"

namespace busbar::popular {
namespace {

Result<std::map<std::string, double>> values_of(const PopularClaim& claim, const CommandRunner& run) {
  std::map<std::string, double> out;
  for (const PopularClaim::Term& t : claim.terms) {
    BUSBAR_ASSIGN(const Json result, run(t.command));
    BUSBAR_ASSIGN(out[t.name], number_at(result, t.path));
  }
  return out;
}

/// The figure said, over the nearer end of the range; 1 inside it.
double factor_outside(double said, double low, double high) {
  if (said < low) return said / low;
  return said > high ? said / high : 1;
}

ClaimVerdict verdict_of_factor(double factor) {
  const double off = std::max(factor, 1 / factor);
  return off <= 1.05 ? ClaimVerdict::kRight : off <= 1.2 ? ClaimVerdict::kNear : ClaimVerdict::kWrong;
}

/// Pre: `j.computed` is set.
void judge_figure(const PopularClaim& claim, JudgedClaim& j) {
  const double directions = claim.both_directions ? 2 : 1;
  const auto [low, high] = std::minmax({*j.computed * directions, j.up_to.value_or(*j.computed) * directions});
  j.off_by = factor_outside(*claim.value, low, high);
  j.verdict = verdict_of_factor(j.off_by);
  if (j.verdict == ClaimVerdict::kRight && claim.both_directions) j.verdict = ClaimVerdict::kRightTwoWay;
  if (j.verdict != ClaimVerdict::kWrong && !claim.depends.empty()) j.verdict = ClaimVerdict::kDepends;
}

Result<JudgedClaim> judge(const PopularClaim& claim, const CommandRunner& run) {
  JudgedClaim j;
  j.claim = &claim;
  if (!claim.external.empty()) {
    j.verdict = ClaimVerdict::kExternal;
    return j;
  }
  BUSBAR_ASSIGN(const auto values, values_of(claim, run));
  BUSBAR_ASSIGN(j.computed, evaluate_formula(claim.computed, values));
  if (!claim.up_to.empty()) {
    BUSBAR_ASSIGN(j.up_to, evaluate_formula(claim.up_to, values));
  }
  if (claim.value) {
    judge_figure(claim, j);
  } else if (claim.holds.empty()) {
    j.verdict = ClaimVerdict::kDepends;
  } else {
    BUSBAR_ASSIGN(const double holds, evaluate_formula(claim.holds, values));
    j.verdict = holds == 0              ? ClaimVerdict::kWrong
                : claim.depends.empty() ? ClaimVerdict::kRight
                                        : ClaimVerdict::kDepends;
  }
  return j;
}

}  // namespace

const char* name_of(ClaimVerdict verdict) {
  constexpr const char* kNames[] = {"right", "right (2-way)", "near", "wrong", "depends", "external", "not computed"};
  return kNames[static_cast<std::size_t>(verdict)];
}

JudgedClaim judge_claim(const PopularClaim& claim, const CommandRunner& run) {
  const Result<JudgedClaim> judged = judge(claim, run);
  if (judged.ok()) return *judged;
  JudgedClaim failed;
  failed.claim = &claim;
  failed.problem = judged.error().text();
  return failed;
}

}  // namespace busbar::popular
