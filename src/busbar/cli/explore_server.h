// A web server for one user of this machine: it listens on 127.0.0.1, and every address of it begins with a secret.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/cli/run_watch.h"

namespace busbar::cli {

/// 128 random bits as 32 hexadecimal digits. Error kIo if the system gives none.
Result<std::string> random_digits();

struct LocalRequest {
  std::string path;                                         ///< "/answer", without the secret
  std::vector<std::pair<std::string, std::string>> values;  ///< of the query, by name
  std::string body{};                                       ///< of a POST
};
struct LocalReply {
  int status = 200;
  std::string type, body;
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// Values of a RunWatch whose answer the server stopped by itself.
constexpr int kTookTooLong = SIGALRM, kTookTooMuch = SIGXCPU;

/// What the server should know of the paths that `answer` has.
struct ServerPaths {
  std::vector<std::string> with_progress;           ///< replies have a line of JSON for each news of the RunWatch first
  std::vector<std::string> posts;                   ///< take a body
  std::chrono::seconds limit{30}, long_limit{120};  ///< for an answer; the second with progress
};

/// 1. Only connections from this machine reach it. libevent reads and writes HTTP.
/// 2. A request without the secret, or whose Host is not 127.0.0.1 or localhost with this port, gets 403 and nothing
///    else: other users do not know the secret, and pages of other sites cannot send the Host.
/// 3. It knows no files: `answer` makes every reply, on threads of the server, several at the same time.
/// 4. Each request has a connection of its own. Connections without a whole request keep no thread (HttpWaiting), so
///    that a thousand of them do not block a page. If the browser closes a connection, the server ends, or the answer
///    takes more time or memory than allowed, the request's RunWatch says so, and its answer should return soon.
///    Requests of one path that follow each other have the same RunWatch.
/// 5. A POST comes from the server's own page: its Origin is the Host. A body has at most kLongestBody bytes.
/// 6. The reply to a path of `with_progress` begins with lines such as {"done": 3, "total": 15, "what": "layouts"}.
class LocalServer {
 public:
  static constexpr std::size_t kLongestBody = std::size_t{1} << 20;
  using Answer = std::function<LocalReply(const LocalRequest&, RunWatch&)>;

  /// `port` 0: any free one. Errors: kIo if the port cannot be used, or the system gives no random numbers.
  static Result<std::unique_ptr<LocalServer>> open(std::uint32_t port, Answer answer, ServerPaths paths = {});
  /// Waits for the requests in work.
  ~LocalServer();
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  /// "http://127.0.0.1:40213/6d1f.../"
  std::string address() const;
  std::uint32_t port() const;

 private:
  struct State;
  explicit LocalServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace busbar::cli
