#include "busbar/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace busbar {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  text_ << file << ':' << line << ": check failed: " << condition << ' ';
}

CheckFailure::~CheckFailure() {
  std::fprintf(stderr, "busbar: internal error: %s\n", text_.str().c_str());
  std::abort();
}

}  // namespace busbar
