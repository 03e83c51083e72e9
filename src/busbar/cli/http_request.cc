#include "busbar/cli/http_request.h"

#include <event2/buffer.h>
#include <event2/keyvalq_struct.h>
#include <strings.h>

#include <cstdlib>
#include <memory>

namespace busbar::cli {
namespace {

struct FreeText {
  void operator()(char* text) const { std::free(text); }
};

std::vector<std::string> values_of(const evkeyvalq& pairs, const char* name) {
  std::vector<std::string> out;
  for (const evkeyval* pair = pairs.tqh_first; pair != nullptr; pair = pair->next.tqe_next)
    if (strcasecmp(pair->key, name) == 0) out.emplace_back(pair->value);
  return out;
}

std::string decoded_path(const evhttp_uri* uri) {
  const char* const path = evhttp_uri_get_path(uri);
  std::size_t size = 0;
  const std::unique_ptr<char, FreeText> text(evhttp_uridecode(path != nullptr ? path : "", 0, &size));
  return text ? std::string(text.get(), size) : "";
}

bool read_query(const char* query, std::vector<std::pair<std::string, std::string>>& values) {
  evkeyvalq pairs{};
  if (evhttp_parse_query_str(query, &pairs) != 0) return false;
  for (const evkeyval* pair = pairs.tqh_first; pair != nullptr; pair = pair->next.tqe_next)
    values.emplace_back(pair->key, pair->value);
  evhttp_clear_headers(&pairs);
  return true;
}

std::string read_body(evhttp_request* request) {
  evbuffer* const body = evhttp_request_get_input_buffer(request);
  std::string out(evbuffer_get_length(body), '\0');
  evbuffer_copyout(body, out.data(), out.size());
  return out;
}

}  // namespace

std::optional<HttpRequest> read_http_request(evhttp_request* request) {
  const evkeyvalq& headers = *evhttp_request_get_input_headers(request);
  const evhttp_uri* const uri = evhttp_request_get_evhttp_uri(request);
  const std::vector<std::string> hosts = values_of(headers, "Host"), origins = values_of(headers, "Origin");
  HttpRequest out;
  if (hosts.size() != 1 || origins.size() > 1 || !read_query(evhttp_uri_get_query(uri), out.values))
    return std::nullopt;
  out.get = evhttp_request_get_command(request) == EVHTTP_REQ_GET;
  out.post = evhttp_request_get_command(request) == EVHTTP_REQ_POST;
  out.path = decoded_path(uri);
  out.host = hosts.front();
  if (!origins.empty()) out.origin = origins.front();
  out.body = read_body(request);
  return out;
}

}  // namespace busbar::cli
