// Requests of a small local web server while they come in.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <string>

#include "busbar/cli/http_head.h"

namespace busbar::cli {

/// A request that has come whole. Who takes it closes `connection`.
struct WholeRequest {
  int connection = -1;
  std::optional<HttpHead> head;  ///< nothing: what came is no request
  std::string body;
  bool too_long = false;  ///< the body is longer than allowed, and was not read
};

/// 1. All connections whose request is not whole wait in one place, so that clients which send nothing keep no thread.
/// 2. A request has kHttpPatience to come. At most kMostWaiting connections wait; one more ends the oldest.
/// 3. One thread at a time calls next().
class HttpIntake {
 public:
  static constexpr std::size_t kMostWaiting = 256;
  static constexpr std::size_t kLongestHead = 16384;

  /// `longest_body`: bytes that a request with this head may bring. `listener` does not block; `stop`: when it can be
  /// read, next() returns nothing. Both stay the caller's.
  HttpIntake(int listener, int stop, std::function<std::size_t(const HttpHead&)> longest_body);
  ~HttpIntake();
  HttpIntake(const HttpIntake&) = delete;
  HttpIntake& operator=(const HttpIntake&) = delete;

  /// Waits for the next request. Nothing: `stop` can be read.
  std::optional<WholeRequest> next();

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    WholeRequest request;
    std::string text;         ///< until the head is whole; then what came of the body
    std::size_t missing = 0;  ///< bytes of the body
    Clock::time_point deadline;
  };
  enum class Came { kMore, kWhole, kNothing };

  void take_new();
  void end_late();
  int patience_ms() const;
  Came read_some(Waiting& w) const;
  Came read_head(Waiting& w) const;

  const int listener_, stop_;
  const std::function<std::size_t(const HttpHead&)> longest_body_;
  std::list<Waiting> waiting_;  ///< the oldest first
};

/// For a request to come, and for a reply to be taken.
constexpr std::chrono::seconds kHttpPatience(5);

}  // namespace busbar::cli
