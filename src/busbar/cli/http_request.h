// What a small local web server needs to know of a request that libevent has read.
#pragma once

#include <event2/http.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace busbar::cli {

struct HttpRequest {
  bool get = false, post = false;                           ///< neither: another method
  std::string path;                                         ///< decoded, without the query
  std::vector<std::pair<std::string, std::string>> values;  ///< of the query, decoded, in order
  std::string host, origin;                                 ///< `origin`: empty where the request names none
  std::string body;
};

/// Nothing if it has not exactly one Host, more than one Origin, or a query that is no list of NAME=VALUE.
std::optional<HttpRequest> read_http_request(evhttp_request* request);

}  // namespace busbar::cli
