#include "busbar/cli/http_head.h"

#include <gtest/gtest.h>

namespace busbar::cli {
namespace {

TEST(HttpHead, HasMethodPathQueryAndHost) {
  const auto head =
      parse_http_head("GET /a%2Fb/?x=1&y=a%20b+c&z&=&x=2 HTTP/1.1\r\nAccept: */*\r\nhOST:  localhost:80 \r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->method, "GET");
  EXPECT_EQ(head->path, "/a/b/");
  EXPECT_EQ(head->host, "localhost:80");
  const std::vector<std::pair<std::string, std::string>> query{
      {"x", "1"}, {"y", "a b c"}, {"z", ""}, {"", ""}, {"x", "2"}};
  EXPECT_EQ(head->query, query);
}

TEST(HttpHead, HasTheLengthOfTheBodyAndWhereItComesFrom) {
  const auto head = parse_http_head("POST / HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\ncontent-length: 12\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->origin, "http://a");
  EXPECT_EQ(head->content_length, 12u);
}

TEST(HttpHead, RefusesWhatIsNoRequest) {
  for (const char* text : {"",
                           "\r\n",
                           "GET / HTTP/1.1",
                           "GET / HTTP/1.1\r\n",
                           "GET / HTTP/1.1\r\nHost: a",
                           "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n",
                           "GET / HTTP/2\r\nHost: a\r\n",
                           "GET  / HTTP/1.1\r\nHost: a\r\n",
                           "GET x HTTP/1.1\r\nHost: a\r\n",
                           "GET http://a/ HTTP/1.1\r\nHost: a\r\n",
                           "GET /% HTTP/1.1\r\nHost: a\r\n",
                           "GET /%4 HTTP/1.1\r\nHost: a\r\n",
                           "GET /?x=%g0 HTTP/1.1\r\nHost: a\r\n",
                           "GET /%+1 HTTP/1.1\r\nHost: a\r\n",
                           "GET / HTTP/1.1\r\nHost\r\n",
                           "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n",
                           "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n",
                           "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n",
                           "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n",
                           "POST / HTTP/1.1\r\nHost: a\r\nOrigin: a\r\nOrigin: a\r\n"})
    EXPECT_FALSE(parse_http_head(text)) << text;
}

}  // namespace
}  // namespace busbar::cli
