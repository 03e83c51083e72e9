#include "busbar/popular/internal/formula.h"

#include <fmt/core.h>
#include <muParser.h>

#include <cmath>

namespace busbar {

Result<double> evaluate_formula(const std::string& formula, const std::map<std::string, double>& values) {
  try {
    mu::Parser parser;
    for (const auto& [name, value] : values) parser.DefineConst(name, value);
    parser.SetExpr(formula);
    const double result = parser.Eval();
    if (std::isfinite(result)) return result;
    return invalid(fmt::format("'{}' has no finite value", formula));
  } catch (const mu::ParserError& e) {
    return invalid(fmt::format("'{}': {}", formula, e.GetMsg()));
  }
}

}  // namespace busbar
