#include "busbar/cli/http_waiting.h"

#include <event2/event.h>

#include <algorithm>

namespace busbar::cli {
namespace {

/// libevent has freed its connection, and with it what it wants to hear of the stream.
bool has_ended(bufferevent* stream) {
  bufferevent_event_cb told = nullptr;
  bufferevent_getcb(stream, nullptr, nullptr, &told, nullptr);
  return told == nullptr;
}

}  // namespace

HttpWaiting::~HttpWaiting() {
  for (const Waiting& w : waiting_) bufferevent_decref(w.stream);
}

bufferevent* HttpWaiting::add(event_base* base) {
  look();
  if (waiting_.size() >= kMostWaiting) end_oldest();
  bufferevent* const stream = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
  if (stream == nullptr) return nullptr;  // libevent then makes one itself, and says so if it cannot
  bufferevent_incref(stream);
  waiting_.push_back({stream, Clock::now() + kHttpPatience});
  return stream;
}

void HttpWaiting::take(bufferevent* stream) {
  const auto w = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& o) { return o.stream == stream; });
  if (w == waiting_.end()) return;
  bufferevent_decref(stream);
  waiting_.erase(w);
}

void HttpWaiting::look() {
  forget_ended();
  for (const Clock::time_point now = Clock::now(); !waiting_.empty() && waiting_.front().deadline <= now;) end_oldest();
}

void HttpWaiting::forget_ended() {
  for (auto w = waiting_.begin(); w != waiting_.end();) {
    if (!has_ended(w->stream)) {
      ++w;
      continue;
    }
    bufferevent_decref(w->stream);  // closes the socket
    w = waiting_.erase(w);
  }
}

/// As if libevent's own timer had ended: it frees the connection before this returns.
void HttpWaiting::end_oldest() {
  bufferevent* const stream = waiting_.front().stream;
  waiting_.pop_front();
  if (!has_ended(stream)) bufferevent_trigger_event(stream, BEV_EVENT_TIMEOUT | BEV_EVENT_READING, 0);
  bufferevent_decref(stream);
}

}  // namespace busbar::cli
