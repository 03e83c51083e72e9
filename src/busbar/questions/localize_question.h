// Which part of a machine is slow, from results of single nodes, rails and pairs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/questions/context.h"
#include "busbar/questions/finding.h"
#include "busbar/spec/cluster.h"

namespace busbar::questions {

struct LocalizeRequest {
  std::vector<std::string> files;  ///< one may name the machine instead of `cluster`
  std::string cluster;
  double threshold = 15;
  spec::Overrides machine;
};
const Record& record_of(const LocalizeRequest*);

/// A result of a part of the machine.
struct PartTime {
  std::string name, kind, file;
  std::int64_t line = 0;
  double slower_percent = 0;
  bool slow = false;
};
const Record& record_of(const PartTime*);

struct LocalizeResult {
  std::optional<std::string> cluster;  ///< empty: the files list cables
  std::optional<double> threshold_percent;
  std::vector<Finding> findings;
  std::vector<std::string> unknown;
  std::optional<std::vector<PartTime>> measurements;
  std::optional<std::string> inputs_hash;
  int exit_status = 0;
  // For views only:
  /// Parts that no measurement tells apart, in the order of `findings[0].candidates`.
  struct Alike {
    std::vector<std::string> parts;
    double confidence = 0;
    std::uint32_t against = 0;
    std::string words;
  };
  std::vector<Alike> found;
  bool named = false;
  std::string summary;
};
const Record& record_of(const LocalizeResult*);

Result<LocalizeResult> answer(const LocalizeRequest& request, const Context& context = {});

}  // namespace busbar::questions
