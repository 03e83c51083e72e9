// Connections of a small local web server whose request is not whole yet.
#pragma once

#include <event2/bufferevent.h>

#include <chrono>
#include <cstddef>
#include <list>

namespace busbar::cli {

/// For a request to come, and for a reply to be taken.
constexpr std::chrono::seconds kHttpPatience(5);

/// 1. A request has kHttpPatience to come, however slowly it comes.
/// 2. At most kMostWaiting connections wait; one more ends the oldest.
/// 3. All calls come from the thread of the event loop.
/// libevent bounds neither the number of connections nor the time of a whole request.
class HttpWaiting {
 public:
  static constexpr std::size_t kMostWaiting = 256;

  HttpWaiting() = default;
  ~HttpWaiting();
  HttpWaiting(const HttpWaiting&) = delete;
  HttpWaiting& operator=(const HttpWaiting&) = delete;

  /// The stream of a connection that has just come; libevent gives it its socket.
  bufferevent* add(event_base* base);
  /// Its request is whole.
  void take(bufferevent* stream);
  /// Ends those that are late, and lets go of those that the client or libevent ended.
  void look();
  bool empty() const { return waiting_.empty(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    bufferevent* stream;  ///< with a reference of its own
    Clock::time_point deadline;
  };
  void forget_ended();
  void end_oldest();

  std::list<Waiting> waiting_;  ///< the oldest first
};

}  // namespace busbar::cli
