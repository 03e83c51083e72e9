#include "busbar/base/check.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace busbar {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "busbar: internal error: %s:%d: check failed: %s ", file, line, condition);
}

CheckFailure& CheckFailure::operator<<(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  return *this;
}

CheckFailure& CheckFailure::operator<<(double number) {
  std::fprintf(stderr, "%g", number);
  return *this;
}

CheckFailure& CheckFailure::add(std::int64_t number) {
  std::fprintf(stderr, "%" PRId64, number);
  return *this;
}

CheckFailure& CheckFailure::add(std::uint64_t number) {
  std::fprintf(stderr, "%" PRIu64, number);
  return *this;
}

CheckFailure::~CheckFailure() {
  std::fputc('\n', stderr);
  std::abort();
}

}  // namespace busbar
