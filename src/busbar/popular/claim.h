// What popular texts say about GPU networks (catalog/popular), and what Busbar says to it.
//
// A claim names the commands that compute its subject, a formula over their results, and how the text counts. The
// verdict is derived from both, never written in the file.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/yaml.h"

namespace busbar::popular {

struct PopularClaim {
  /// One number of a formula: the result of a command at a path (see number_at).
  struct Term {
    std::string name, command, path;  ///< "nvlink", "topo dgx-h100", "levels[scale-up].GBps_per_direction"
  };
  std::string id, said;
  std::optional<double> value;  ///< the figure said, in `unit`
  std::string unit;
  bool both_directions = false;  ///< the text adds the two directions of a link
  std::vector<Term> terms;
  std::string computed, up_to;  ///< formulas; `up_to`: the other end of a range
  std::string holds;            ///< a formula that is not 0 if a statement without a figure is right
  std::string depends;          ///< what the answer depends on
  std::string external;         ///< who decides, if no computation can
  std::string why;              ///< one sentence for the reader
};

struct PopularText {
  std::string name, title, text;
  std::vector<PopularClaim> claims;
};

/// Refuses unknown keys, terms without a path, and claims that say neither how they are computed nor who decides.
Result<PopularText> read_popular_text(const YamlDocument& document);

enum class ClaimVerdict : std::uint8_t {
  kRight,        ///< within 5 %, or the statement holds
  kRightTwoWay,  ///< right as a sum of both directions
  kNear,         ///< within 20 %
  kWrong,        ///< farther off, or the statement does not hold
  kDepends,      ///< right under one condition, wrong under another
  kExternal,     ///< a fact of history or of the market
  kNotComputed,  ///< a command failed
};
const char* name_of(ClaimVerdict verdict);  ///< "right", "right (2-way)", ...

struct JudgedClaim {
  const PopularClaim* claim = nullptr;
  ClaimVerdict verdict = ClaimVerdict::kNotComputed;
  std::optional<double> computed, up_to;  ///< in the claim's unit, one direction
  double off_by = 1;                      ///< the figure said, over the right one
  std::string problem;                    ///< why a claim was not computed
};

/// The JSON that a command line of Busbar prints, given without "busbar" and "--json".
using CommandRunner = std::function<Result<Json>(const std::string& command)>;
JudgedClaim judge_claim(const PopularClaim& claim, const CommandRunner& run);

}  // namespace busbar::popular
