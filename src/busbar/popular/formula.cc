#include "busbar/popular/internal/formula.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

namespace busbar::popular {
namespace {

constexpr std::size_t kMostFormula = 1000;  // characters; bounds the depth of nested brackets as well
constexpr int kMinusRank = 5;               // of the sign: -2 ^ 2 is -4

struct FormulaOperator {
  std::string_view sign;
  int rank;  ///< higher binds tighter
  double (*apply)(double, double);
};

constexpr FormulaOperator kOperators[] = {
    // of two that begin alike, the longer comes first
    {"&&", 1, [](double a, double b) -> double { return a != 0 && b != 0; }},
    {"==", 2, [](double a, double b) -> double { return a == b; }},
    {"!=", 2, [](double a, double b) -> double { return a != b; }},
    {"<=", 2, [](double a, double b) -> double { return a <= b; }},
    {">=", 2, [](double a, double b) -> double { return a >= b; }},
    {"<", 2, [](double a, double b) -> double { return a < b; }},
    {">", 2, [](double a, double b) -> double { return a > b; }},
    {"+", 3, [](double a, double b) { return a + b; }},
    {"-", 3, [](double a, double b) { return a - b; }},
    {"*", 4, [](double a, double b) { return a * b; }},
    {"/", 4, [](double a, double b) { return a / b; }},
    {"^", 6, [](double a, double b) { return std::pow(a, b); }},
};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Computes while it reads (precedence climbing). The first mistake ends the reading.
class FormulaReader {
 public:
  FormulaReader(std::string_view text, const std::map<std::string, double>& values) : rest_(text), values_(values) {}

  double read() {
    const double result = expression(0);
    if (!rest_.empty()) fail(fmt::format("'{}' is not expected here", rest_));
    return result;
  }
  const std::string& mistake() const { return mistake_; }

 private:
  double expression(int least_rank) {
    double left = operand();
    while (const FormulaOperator* const o = next_operator(least_rank)) {
      rest_.remove_prefix(o->sign.size());
      left = o->apply(left, expression(o->sign[0] == '^' ? o->rank : o->rank + 1));
    }
    return left;
  }

  const FormulaOperator* next_operator(int least_rank) {
    skip_spaces();
    for (const FormulaOperator& o : kOperators)
      if (rest_.starts_with(o.sign)) return o.rank >= least_rank ? &o : nullptr;
    return nullptr;
  }

  double operand() {
    if (took('-')) return -expression(kMinusRank);
    if (took('(')) return closed(expression(0));
    if (rest_.empty()) return fail("it ends too early");
    if (is_letter(rest_[0])) return named();
    double number = 0;
    const auto [end, failed] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (failed != std::errc()) return fail(fmt::format("'{}' is not expected here", rest_));
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return number;
  }

  double named() {
    const auto end = std::find_if(rest_.begin(), rest_.end(), [](char c) { return !is_letter(c) && !is_digit(c); });
    const std::string name(rest_.begin(), end);
    rest_.remove_prefix(name.size());
    if (took('(')) return call(name);
    const auto known = values_.find(name);
    return known != values_.end() ? known->second : fail(fmt::format("'{}' has no value", name));
  }

  double call(const std::string& name) {
    std::vector<double> given{expression(0)};
    while (took(',')) given.push_back(expression(0));
    closed(0);
    if (name == "min") return *std::min_element(given.begin(), given.end());
    if (name == "max") return *std::max_element(given.begin(), given.end());
    if (name == "abs" && given.size() == 1) return std::fabs(given[0]);
    if (name == "log2" && given.size() == 1) return std::log2(given[0]);
    return fail(fmt::format("there is no function '{}' of {} values", name, given.size()));
  }

  double closed(double value) { return took(')') ? value : fail("a bracket is not closed"); }

  bool took(char c) {
    skip_spaces();
    const bool there = rest_.starts_with(c);
    if (there) rest_.remove_prefix(1);
    return there;
  }

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  double fail(std::string why) {
    if (mistake_.empty()) mistake_ = std::move(why);
    rest_ = {};
    return 0;
  }

  std::string_view rest_;  ///< what is not read yet
  const std::map<std::string, double>& values_;
  std::string mistake_;
};

}  // namespace

Result<double> evaluate_formula(const std::string& formula, const std::map<std::string, double>& values) {
  if (formula.size() > kMostFormula) return invalid(fmt::format("a formula has at most {} characters", kMostFormula));
  FormulaReader reader(formula, values);
  const double result = reader.read();
  if (!reader.mistake().empty()) return invalid(fmt::format("'{}': {}", formula, reader.mistake()));
  if (std::isfinite(result)) return result;
  return invalid(fmt::format("'{}' has no finite value", formula));
}

}  // namespace busbar::popular
