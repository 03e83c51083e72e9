// The head of an HTTP request, as far as a server of small local pages needs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace busbar::cli {

struct HttpHead {
  std::string method, path;                                ///< `path`: decoded, without the query
  std::vector<std::pair<std::string, std::string>> query;  ///< decoded, in order
  std::string host, origin;                                ///< `origin`: empty where the request names none
  std::uint64_t content_length = 0;                        ///< bytes that follow the head
};

/// `text`: the request line and all header lines, each ending with "\r\n". Nothing if it is no HTTP/1.x request, if it
/// has not exactly one Host header, or if its body has no length that is given once.
/// Source: RFC 9112 sections 2 to 5 (request line, headers); WHATWG URL, "application/x-www-form-urlencoded".
std::optional<HttpHead> parse_http_head(std::string_view text);

}  // namespace busbar::cli
