#include "busbar/cli/explore_server.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "busbar/base/json.h"
#include "busbar/cli/http_intake.h"
#include "busbar/step/kept_machines.h"

namespace busbar::cli {

struct LocalServer::State {
  int listener = -1;
  int stop[2] = {-1, -1};  ///< a pipe; it ends when the server does, and wakes all threads
  std::uint32_t port = 0;
  std::string secret;
  Answer answer;
  ServerPaths paths;
  std::vector<std::thread> threads;
  std::mutex turn;                     // guards the member below
  std::unique_ptr<HttpIntake> intake;  ///< requests that come in; one thread waits for them, the others answer
  std::mutex mutex;                    // guards the member below
  std::map<std::string, std::vector<std::unique_ptr<RunWatch>>> idle;  ///< of requests that have ended, by path

  State() = default;
  ~State() {
    for (const int file : {listener, stop[0], stop[1]})
      if (file >= 0) close(file);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  bool trusts(const HttpHead& head) const;
  bool from_own_page(const HttpHead& head) const;
  std::size_t longest_body(const HttpHead& head) const;
  std::optional<WholeRequest> next();
  std::unique_ptr<RunWatch> take_watch(const std::string& path);
  LocalReply run(int connection, const LocalRequest& request, bool progress);
  void serve(const WholeRequest& request);
  void work();
};

namespace {

constexpr int kThreads = 8;
constexpr std::size_t kMostMemory = std::size_t{3} << 30;  // of the process, with all answers in work

using Clock = std::chrono::steady_clock;

/// Whether `file` is ready for `events` before `deadline` and before `stop` ends.
bool ready(int file, short events, int stop, std::optional<Clock::time_point> deadline) {
  pollfd files[] = {{file, events, 0}, {stop, POLLIN, 0}};
  while (true) {
    int ms = -1;
    if (deadline) {
      ms = static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - Clock::now()).count());
      if (ms <= 0) return false;
    }
    const int found = poll(files, 2, ms);
    if (found < 0 && errno == EINTR) continue;
    return found > 0 && files[1].revents == 0;
  }
}

void send_all(int connection, int stop, std::string_view text) {
  const Clock::time_point deadline = Clock::now() + kHttpPatience;
  while (!text.empty() && ready(connection, POLLOUT, stop, deadline)) {
    const ssize_t sent = send(connection, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return;
    if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

/// `whole`: the body follows at once, and its size is known.
std::string response_head(const LocalReply& reply, bool whole) {
  const char* const reason = reply.status == 200 ? "OK" : reply.status == 404 ? "Not Found" : "Refused";
  std::string out = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nConnection: close\r\nCache-Control: no-store\r\n"
      "Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: "
      "same-origin\r\n",
      reply.status, reason, reply.type);
  if (whole) out += fmt::format("Content-Length: {}\r\n", reply.body.size());
  for (const auto& [name, value] : reply.headers) out += fmt::format("{}: {}\r\n", name, value);
  return out + "\r\n";
}

/// Looks at a request in work: whether the browser has left, the server ends, it takes too much time or memory, or
/// there is progress to send.
class Attendance {
 public:
  Attendance(int connection, int stop, int done, RunWatch& watch)
      : connection_(connection), stop_(stop), done_(done), watch_(watch) {}

  /// Returns when the work is done, whose thread then ends `done`.
  void attend(bool progress, std::chrono::seconds limit) {
    constexpr int kLook_ms = 250;
    constexpr short kLeft = POLLRDHUP | POLLHUP | POLLERR;
    const Clock::time_point deadline = Clock::now() + limit;
    for (bool asked = false;;) {
      // Once the work is asked to stop, only its end counts.
      pollfd files[] = {{done_, POLLIN, 0}, {asked ? -1 : stop_, POLLIN, 0}, {asked ? -1 : connection_, kLeft, 0}};
      const int found = poll(files, 3, asked ? -1 : kLook_ms);
      if (found > 0 && files[0].revents != 0) return;
      const bool left = found > 0 && (files[1].revents != 0 || files[2].revents != 0);
      const int why = left                                      ? SIGTERM
                      : Clock::now() > deadline                 ? kTookTooLong
                      : step::memory_of_process() > kMostMemory ? kTookTooMuch
                                                                : 0;
      asked = asked || why != 0;
      if (why != 0) watch_.stop(why);
      if (found == 0 && progress && !asked) send_news();
    }
  }

 private:
  void send_news() {
    const RunWatch::Progress news = watch_.progress();
    if (news.total == 0 || news.done == sent_) return;
    sent_ = news.done;
    const Json line{{"done", news.done}, {"total", news.total}, {"what", news.what}};
    send_all(connection_, stop_, line.dump() + "\n");
  }

  int connection_, stop_, done_;
  RunWatch& watch_;
  std::size_t sent_ = 0;
};

/// Its time does not depend on where the texts differ.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned differs = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differs |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differs == 0;
}

/// A socket that listens on 127.0.0.1, and its port. Without SO_REUSEPORT: two servers never share a port.
std::optional<std::uint32_t> listen_on(std::uint32_t port, int& listener) {
  listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);  // a port is free again at once
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  auto* const address = reinterpret_cast<sockaddr*>(&place);
  if (listener < 0 || bind(listener, address, size) != 0 || listen(listener, SOMAXCONN) != 0 ||
      getsockname(listener, address, &size) != 0)
    return std::nullopt;
  return ntohs(place.sin_port);
}

/// Throws away what a client still sends of a body that was refused, for a second at most: to close at once would reset
/// the connection, and the client might not see the answer.
void forget_rest(int connection, int stop) {
  constexpr auto kPatience = std::chrono::seconds(1);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  shutdown(connection, SHUT_WR);
  std::array<char, 65536> part{};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    std::array<pollfd, 2> files{{{connection, POLLIN, 0}, {stop, POLLIN, 0}}};
    if (left.count() <= 0 || poll(files.data(), files.size(), static_cast<int>(left.count())) <= 0) return;
    if (files[1].revents != 0 || recv(connection, part.data(), part.size(), 0) <= 0) return;
  }
}

}  // namespace

Result<std::string> random_digits() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return Error{ErrorCode::kIo, "the system gives no random numbers", {}};
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

bool LocalServer::State::trusts(const HttpHead& head) const {
  if (head.host != fmt::format("127.0.0.1:{}", port) && head.host != fmt::format("localhost:{}", port)) return false;
  if (head.method != "GET" && (head.method != "POST" || !from_own_page(head))) return false;
  return same_secret(std::string_view(head.path).substr(1, head.path.find('/', 1) - 1), secret);
}

/// A browser names the page that sends a POST, and pages of other sites cannot change that.
bool LocalServer::State::from_own_page(const HttpHead& head) const { return head.origin == "http://" + head.host; }

std::size_t LocalServer::State::longest_body(const HttpHead& head) const {
  return head.method == "POST" && trusts(head) ? LocalServer::kLongestBody : 0;
}

/// The threads take turns to wait.
std::optional<WholeRequest> LocalServer::State::next() {
  const std::lock_guard lock(turn);
  return intake->next();
}

std::unique_ptr<RunWatch> LocalServer::State::take_watch(const std::string& path) {
  const std::lock_guard lock(mutex);
  auto& free = idle[path];
  if (free.empty()) return std::make_unique<RunWatch>();
  std::unique_ptr<RunWatch> out = std::move(free.back());
  free.pop_back();
  out->reset();
  return out;
}

LocalReply LocalServer::State::run(int connection, const LocalRequest& request, bool progress) {
  int done[2] = {-1, -1};
  if (pipe(done) != 0) return {500, "text/plain", "no pipe is left\n"};
  std::unique_ptr<RunWatch> watch = take_watch(request.path);
  LocalReply out;
  std::thread worker([&] {
    out = answer(request, *watch);
    close(done[1]);
  });
  Attendance(connection, stop[0], done[0], *watch).attend(progress, progress ? paths.long_limit : paths.limit);
  worker.join();
  close(done[0]);
  const std::lock_guard lock(mutex);
  if (out.status == 200) idle[request.path].push_back(std::move(watch));
  return out;
}

void LocalServer::State::serve(const WholeRequest& whole) {
  const int connection = whole.connection;
  const auto send = [&](const LocalReply& reply) {
    send_all(connection, stop[0], response_head(reply, true) + reply.body);
  };
  if (!whole.head) return send({400, "text/plain", "this is no request of a page of busbar explore\n"});
  const HttpHead& head = *whole.head;
  if (!trusts(head)) return send({403, "text/plain", "refused: use the address that busbar explore printed\n"});
  if (whole.too_long)
    return send({413, "text/plain", fmt::format("a file has at most {} bytes\n", LocalServer::kLongestBody)});
  const LocalRequest request{head.path.substr(1 + secret.size()), head.query, whole.body};
  const bool posts = std::find(paths.posts.begin(), paths.posts.end(), request.path) != paths.posts.end();
  if (posts != (head.method == "POST")) return send({404, "text/plain", "there is no such page\n"});
  if (std::find(paths.with_progress.begin(), paths.with_progress.end(), request.path) == paths.with_progress.end())
    return send(run(connection, request, false));
  send_all(connection, stop[0], response_head({200, "application/x-ndjson", ""}, false));
  send_all(connection, stop[0], run(connection, request, true).body + "\n");
}

void LocalServer::State::work() {
  while (const std::optional<WholeRequest> request = next()) {
    serve(*request);
    if (request->too_long) forget_rest(request->connection, stop[0]);
    close(request->connection);
  }
}

LocalServer::LocalServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<LocalServer>> LocalServer::open(std::uint32_t port, Answer answer, ServerPaths paths) {
  auto state = std::make_unique<State>();
  BUSBAR_ASSIGN(state->secret, random_digits());
  state->answer = std::move(answer);
  state->paths = std::move(paths);
  const std::optional<std::uint32_t> bound = listen_on(port, state->listener);
  if (!bound || pipe(state->stop) != 0)
    return Error{ErrorCode::kIo,
                 fmt::format("port {} is in use or not allowed; use another, or 0 for any free one", port),
                 {"", 0, 0, "--port"}};
  state->port = *bound;
  state->intake = std::make_unique<HttpIntake>(
      state->listener, state->stop[0], [s = state.get()](const HttpHead& head) { return s->longest_body(head); });
  for (int t = 0; t < kThreads; ++t) state->threads.emplace_back([s = state.get()] { s->work(); });
  return std::unique_ptr<LocalServer>(new LocalServer(std::move(state)));
}

LocalServer::~LocalServer() {
  close(std::exchange(state_->stop[1], -1));
  for (std::thread& thread : state_->threads) thread.join();
}

std::string LocalServer::address() const {
  return fmt::format("http://127.0.0.1:{}/{}/", state_->port, state_->secret);
}

std::uint32_t LocalServer::port() const { return state_->port; }

}  // namespace busbar::cli
