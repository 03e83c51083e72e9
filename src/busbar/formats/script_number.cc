#include "busbar/formats/internal/script_number.h"

#include <cctype>
#include <limits>

#include "busbar/base/text.h"

namespace busbar::formats {
namespace {

class NumberReader {
 public:
  using Value = std::optional<std::int64_t>;
  using Lookup = std::function<Value(const std::string&)>;
  NumberReader(std::string_view text, const Lookup& value_of) : rest_(text), value_of_(value_of) {}

  Value read() {
    const Value out = sum();
    skip();
    return rest_.empty() ? out : std::nullopt;
  }

 private:
  static constexpr int kMostDepth = 50;

  void skip() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0) rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  static Value apply(Value a, char sign, Value b) {
    std::int64_t out = 0;
    if (!a || !b) return std::nullopt;
    if (sign == '+') return __builtin_add_overflow(*a, *b, &out) ? std::nullopt : Value(out);
    if (sign == '-') return __builtin_sub_overflow(*a, *b, &out) ? std::nullopt : Value(out);
    if (sign == '*') return __builtin_mul_overflow(*a, *b, &out) ? std::nullopt : Value(out);
    if (*b == 0 || (*b == -1 && *a == std::numeric_limits<std::int64_t>::min())) return std::nullopt;
    return sign == '/' ? *a / *b : *a % *b;
  }
  Value sum() {
    if (++depth_ > kMostDepth) return std::nullopt;
    Value out = product();
    while (true) {
      const char sign = take('+') ? '+' : take('-') ? '-' : '\0';
      if (sign == '\0') break;
      out = apply(out, sign, product());
    }
    --depth_;
    return out;
  }
  Value product() {
    Value out = value();
    while (true) {
      const char sign = take('*') ? '*' : take('/') ? '/' : take('%') ? '%' : '\0';
      if (sign == '\0') return out;
      out = apply(out, sign, value());
    }
  }
  Value value() {
    if (take('(')) {
      const Value inside = sum();
      return take(')') ? inside : std::nullopt;
    }
    const bool braces = take('$') && take('{');
    std::size_t n = 0;
    skip();
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) != 0 || rest_[n] == '_')) ++n;
    const std::string word(rest_.substr(0, n));
    rest_.remove_prefix(n);
    if (braces && !take('}')) return std::nullopt;
    std::int64_t number = 0;
    if (is_number(word, number)) return number;
    return word.empty() ? std::nullopt : value_of_(word);
  }

  std::string_view rest_;
  const Lookup& value_of_;
  int depth_ = 0;
};

}  // namespace

std::optional<std::int64_t> script_number(
    std::string_view text, const std::function<std::optional<std::int64_t>(const std::string&)>& value_of) {
  return NumberReader(text, value_of).read();
}

}  // namespace busbar::formats
