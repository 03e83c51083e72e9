// Checks for errors that can only be our own bugs. Input never triggers a check.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace busbar {

/// Collects the failed condition and then its context, piece by piece. At the end of its scope it prints them on stderr
/// and aborts. It uses no stream, because nearly every source includes this header.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure() noexcept(false);
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  CheckFailure& operator<<(std::string_view text);
  CheckFailure& operator<<(double number);
  template <typename T>
    requires std::is_integral_v<T>
  CheckFailure& operator<<(T number) {
    return std::is_signed_v<T> ? add(static_cast<std::int64_t>(number)) : add(static_cast<std::uint64_t>(number));
  }

 private:
  CheckFailure& add(std::int64_t number);
  CheckFailure& add(std::uint64_t number);
};

/// From now on a failed check throws std::logic_error with the same text, in all threads, and prints nothing: a library
/// must not end the process of its caller.
void let_checks_throw();

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
