// The rules of catalog/rules: a condition over facts, what it means and what to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/collectives/schedule.h"
#include "busbar/spec/catalog.h"

namespace busbar::doctor {

enum class Severity : std::uint8_t {
  kNote,  ///< advice, or a setting that someone should know
  kWarn,  ///< runs, but measurably below the hardware
  kFail,  ///< wrong results, a hang, or the fast path is not used at all
};
const char* name_of(Severity severity);

/// Which facts a clause compares with the fact of the first clause.
enum class Scope : std::uint8_t {
  kAnywhere,
  kHost,     ///< of one host; of one file where a line names no host
  kSubject,  ///< about one part of one host
  kName,     ///< about parts or variables of one name, on any host
  kValue,    ///< with one value
  kFile,
};
const char* name_of(Scope scope);

/// The other side of `below` and `above`: a number, or another fact of the same subject (for counts: of the same
/// scope).
struct RuleBound {
  double number = 0;
  std::string fact;  ///< empty: the number
  bool count = false;
};

/// One part of a condition. Patterns are globs without regard to case: "mlx5_bond*".
struct Clause {
  std::string fact;
  std::vector<std::string> subject, subject_not, is, is_not;
  std::optional<RuleBound> below, above;              ///< of the number in the value
  double share = 1;                                   ///< of the other fact in `below` and `above`, which counts
  std::optional<double> below_median;                 ///< below this share of the median of three or more facts
  std::optional<RuleBound> count_below, count_above;  ///< of the number of different values in the scope
  bool differs =
      false;          ///< more than one value in the scope; the facts with a rarer value than the most frequent count
  bool none = false;  ///< there is no such fact
  Scope same = Scope::kAnywhere;
};

/// The counterpart of a rule in a machine, for its cost: what a sound machine gets, or what makes the machine sound.
struct RuleCost {
  std::vector<std::string> faults;  ///< rules of accuracy/suspects.h, or variables of NCCL ("NCCL_PXN_DISABLE=1")
  std::optional<double> factor;     ///< remaining share of the rate; empty: the first that a search tries
  std::string sound;                ///< instead: a change of the file as for --set, or "undamaged"
  std::optional<collectives::Collective> op;  ///< that suffers most; empty: all-reduce
};

struct Rule {
  std::string id, title, explanation, part;
  Severity severity = Severity::kWarn;
  bool symptom = false;                ///< says what was seen, not why
  bool alone = false;                  ///< counts only if no other rule finds anything
  std::vector<std::string> judged_by;  ///< without a fact of each of these names, the state is unknown
  std::vector<Clause> when, unless;
  std::vector<std::string> fix, references, hides;
  RuleCost cost;
  std::vector<std::string> shows, silent;  ///< texts with which it fires and does not
};

/// The rules of all files of catalog/rules, in order of names. Errors name the place.
Result<std::vector<Rule>> load_rules(const spec::Catalog& catalog);
/// The rules of one file.
Result<std::vector<Rule>> read_rules(const YamlDocument& document);

}  // namespace busbar::doctor
