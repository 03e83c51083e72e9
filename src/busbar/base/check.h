// What can only be our own bug. Input never triggers a check.
#pragma once

#include <sstream>

namespace busbar {

/// Prints the failed condition and its context on stderr and aborts when it goes out of scope.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  template <typename T>
  CheckFailure& operator<<(const T& value) {
    text_ << value;
    return *this;
  }

 private:
  std::ostringstream text_;
};

}  // namespace busbar

#define BUSBAR_CHECK(cond) \
  if (cond) [[likely]] {   \
  } else                   \
    ::busbar::CheckFailure(__FILE__, __LINE__, #cond)

#ifdef NDEBUG
#define BUSBAR_DCHECK(cond) BUSBAR_CHECK(true || (cond))
#else
#define BUSBAR_DCHECK(cond) BUSBAR_CHECK(cond)
#endif
