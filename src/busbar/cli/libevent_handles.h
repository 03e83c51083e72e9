// Handles of libevent that free themselves.
#pragma once

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>

#include <memory>

namespace busbar::cli {

template <auto kFree>
struct LibeventFree {
  template <typename T>
  void operator()(T* handle) const {
    kFree(handle);
  }
};
using EventBase = std::unique_ptr<event_base, LibeventFree<event_base_free>>;
using Event = std::unique_ptr<event, LibeventFree<event_free>>;
using EventBuffer = std::unique_ptr<evbuffer, LibeventFree<evbuffer_free>>;
using HttpService = std::unique_ptr<evhttp, LibeventFree<evhttp_free>>;

}  // namespace busbar::cli
