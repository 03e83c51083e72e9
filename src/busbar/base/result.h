// Errors whose cause is outside the program are values.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "busbar/base/check.h"

namespace busbar {

/// Callers act differently on each code.
enum class ErrorCode {
  kInvalid,      ///< the input is malformed or contradicts itself
  kNotFound,     ///< a name, file or preset does not exist
  kUnsupported,  ///< legal, but this engine or version cannot model it
  kUnreachable,  ///< no path between two devices
  kDoesNotFit,   ///< a clean "no": memory or machine too small (exit 1 instead of 2)
  kIo,           ///< reading or writing failed
};

/// Where an error was found: file, 1-based line and column (0: unknown), and the key path in the file.
struct Where {
  std::string file;
  int line = 0;
  int column = 0;
  std::string path;  ///< "links[3].rate"; a flag ("--degrade") for errors in the command line

  /// "file:line:column: path: " without unknown parts; empty if nothing is known.
  std::string prefix() const;
};

struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;  ///< the cause and the remedy: "'400' has no unit; write 400Gb/s"
  Where where;

  /// The complete line for the user.
  std::string text() const { return where.prefix() + message; }
};

/// A T or an Error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : v_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose
  bool ok() const { return v_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & {
    BUSBAR_CHECK(ok()) << error().text();
    return std::get<0>(v_);
  }
  const T& value() const& {
    BUSBAR_CHECK(ok()) << std::get<1>(v_).text();
    return std::get<0>(v_);
  }
  /// By value, so that `for (x : f().value())` is safe.
  T value() && {
    BUSBAR_CHECK(ok()) << std::get<1>(v_).text();
    return std::get<0>(std::move(v_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() { return std::get<1>(v_); }
  const Error& error() const { return std::get<1>(v_); }

 private:
  std::variant<T, Error> v_;
};

/// Success or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose
  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

inline Error invalid(std::string message, Where where = {}) {
  return Error{ErrorCode::kInvalid, std::move(message), std::move(where)};
}
inline Error unsupported(std::string message, Where where = {}) {
  return Error{ErrorCode::kUnsupported, std::move(message), std::move(where)};
}

}  // namespace busbar

#define BUSBAR_CONCAT_(a, b) a##b
#define BUSBAR_CONCAT(a, b) BUSBAR_CONCAT_(a, b)
/// Returns the error of `expr` (a Status or Result) from the enclosing function, if there is one.
#define BUSBAR_RETURN_IF_ERROR(expr)                                                          \
  if (auto BUSBAR_CONCAT(status_, __LINE__) = (expr); !BUSBAR_CONCAT(status_, __LINE__).ok()) \
  return BUSBAR_CONCAT(status_, __LINE__).error()
/// `BUSBAR_ASSIGN(auto x, make_x());`: takes the value or returns the error.
#define BUSBAR_ASSIGN(lhs, expr) BUSBAR_ASSIGN_(BUSBAR_CONCAT(result_, __LINE__), lhs, expr)
#define BUSBAR_ASSIGN_(tmp, lhs, expr) \
  auto tmp = (expr);                   \
  if (!tmp.ok()) return tmp.error();   \
  lhs = std::move(tmp).value()
