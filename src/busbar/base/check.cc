#include "busbar/base/check.h"

#include <fmt/core.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

namespace busbar {
namespace {

std::atomic<bool> checks_throw{false};
thread_local std::string failure;  // its text so far

}  // namespace

void let_checks_throw() { checks_throw = true; }

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  failure = fmt::format("{}:{}: check failed: {} ", file, line, condition);
}

CheckFailure& CheckFailure::operator<<(std::string_view text) {
  failure += text;
  return *this;
}

CheckFailure& CheckFailure::operator<<(double number) { return *this << fmt::format("{:g}", number); }
CheckFailure& CheckFailure::add(std::int64_t number) { return *this << std::to_string(number); }
CheckFailure& CheckFailure::add(std::uint64_t number) { return *this << std::to_string(number); }

CheckFailure::~CheckFailure() noexcept(false) {
  const std::string text = std::exchange(failure, "");
  if (checks_throw) throw std::logic_error(text);
  std::fprintf(stderr, "busbar: internal error: %s\n", text.c_str());
  std::abort();
}

}  // namespace busbar
