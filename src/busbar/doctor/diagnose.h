// Judges the rules by the evidence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/doctor/evidence.h"
#include "busbar/doctor/fact_tables.h"
#include "busbar/doctor/rule.h"

namespace busbar::doctor {

/// A part that may be at fault.
struct FaultyPart {
  std::string part;       ///< as --degrade takes it if the machine is known, otherwise as the file names it
  double confidence = 1;  ///< 0 to 1
};

struct EvidenceLine {
  std::string file;
  int line = 0;
  std::string text;
};

struct Finding {
  std::string rule, title, part, explanation;
  Severity severity = Severity::kNote;
  bool symptom = false;  ///< says what was seen, not why
  std::vector<FaultyPart> candidates;
  std::vector<EvidenceLine> evidence;  ///< all lines that the finding needs
  std::vector<std::string> fix, references;
  std::optional<double> cost_percent;  ///< (time with the fault) / (time without it) - 1
  std::string cost_of;                 ///< what was timed, or why nothing was; may be empty
  RuleCost cost;                       ///< how to time it, with the settings that were found
  std::vector<std::string> selectors;  ///< parts of the machine that it may be about, as --degrade takes them
  std::string flags;                   ///< what repeats the prediction with the fault; empty: nothing was timed
  std::string follows_from;            ///< id of a finding of which this one is a consequence
};

/// A rule that could not be judged.
struct UnknownRule {
  std::string rule, title;
  std::string missing;  ///< the fact that no input states
  std::string ask;      ///< how to obtain it
};

struct Diagnosis {
  /// Fail first; within a severity causes before symptoms, then what ends jobs before what slows them; of the former
  /// by their first lines if there is one file, else in the order of the rules; then what no rule knows
  /// (unknown_warnings.h); consequences last.
  std::vector<Finding> findings;
  std::vector<UnknownRule> unknown;
  std::vector<std::string> ok;  ///< ids of rules that were judged and do not fire
};

Diagnosis diagnose(const Evidence& evidence, const std::vector<Rule>& rules, const FactTables& tables);

}  // namespace busbar::doctor
