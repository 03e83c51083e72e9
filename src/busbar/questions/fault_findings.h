// Faults that explain measured results, in the results of expect and doctor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/accuracy/fault_search.h"
#include "busbar/base/record.h"

namespace busbar::questions {

struct FaultCandidate {
  std::uint64_t rank = 0;
  std::string rule;
  std::optional<std::string> part;
  std::vector<std::string> alike;
  double factor = 0, confidence = 0;
  std::string explanation, flags;
  double misfit = 0;
  // For views only:
  double likelihood = 0;      ///< of all candidates of this rank together
  double slower_percent = 0;  ///< with the first candidate of this rank
};
const Record& record_of(const FaultCandidate*);

struct FaultFinding {
  std::string rule, severity;
  std::optional<std::string> part;
  std::vector<FaultCandidate> candidates;
  std::string explanation;
  double cost_percent = 0, sound_confidence = 0;
};
const Record& record_of(const FaultFinding*);

struct TellingMeasurement {
  std::string tells, command;
};
const Record& record_of(const TellingMeasurement*);

/// Lists are absent where results were not judged.
struct FaultFindings {
  std::optional<std::vector<FaultFinding>> findings;
  std::optional<std::vector<std::string>> unseen_parts;
  std::optional<std::vector<TellingMeasurement>> next;
  // For views only:
  bool searched = false, told = false, fits = true, named = false, low = false;
  double in_place = 1;  ///< time of large sizes in place, relative to out of place
};
const Record& record_of(const FaultFindings*);

/// `found`: null if there was no search.
FaultFindings fault_findings(const accuracy::FaultSearchResult* found, const accuracy::Expectation& e);

}  // namespace busbar::questions
