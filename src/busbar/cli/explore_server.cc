#include "busbar/cli/explore_server.h"

#include <arpa/inet.h>
#include <event2/keyvalq_struct.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "busbar/base/json.h"
#include "busbar/cli/http_request.h"
#include "busbar/cli/http_waiting.h"
#include "busbar/cli/libevent_handles.h"
#include "busbar/step/kept_machines.h"

namespace busbar::cli {
namespace {

constexpr std::size_t kMostInWork = 8, kLongestHead = 16384;
constexpr std::size_t kMostMemory = std::size_t{3} << 30;  // of the process, with all answers in work
constexpr timeval kLook{0, 250'000};                       // from one look at the requests in work to the next

using Clock = std::chrono::steady_clock;

}  // namespace

/// A request that is being answered, or will be. All but `reply` belongs to the thread of the event loop.
struct LocalJob {
  evhttp_request* request = nullptr;
  LocalRequest asked;
  bool progress = false;  ///< the reply has begun, and lines of news come before the answer
  bool stopped = false;
  std::unique_ptr<RunWatch> watch;
  Clock::time_point deadline;
  std::size_t sent = 0;  ///< of the last news
  Event left;            ///< the client has closed the connection: calls `leave`
  std::function<void()> leave;
  std::thread thread;  ///< makes `reply`
  LocalReply reply;

  void stop(int why) {
    if (!stopped) watch->stop(why);
    stopped = true;
  }
};

struct LocalServer::State {
  int wake[2] = {-1, -1};  ///< a pipe: what is written to it wakes the event loop
  std::uint32_t port = 0;
  std::string secret;
  Answer answer;
  ServerPaths paths;
  EventBase base;  // this and all below belong to the thread of the event loop
  HttpWaiting waiting;
  HttpService http;
  Event woken, tick;
  std::list<LocalJob> jobs;  ///< the first ones, kMostInWork at most, are in work
  bool ends = false;
  std::map<std::string, std::vector<std::unique_ptr<RunWatch>>> idle;  ///< of requests that have ended, by path
  std::mutex mutex;                                                    // guards the two members below
  std::vector<LocalJob*> made;                                         ///< with answers that are not sent yet
  bool end_wanted = false;
  std::thread loop;

  State() = default;
  ~State() {
    for (const int file : wake)
      if (file >= 0) close(file);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  bool serve(int listener);
  bool trusts(const HttpRequest& request) const;
  std::optional<LocalReply> refusal(const std::optional<HttpRequest>& request) const;
  void come(evhttp_request* request);
  void forget(LocalJob& job);
  void remove(const LocalJob& job);
  void begin_jobs();
  void begin(LocalJob& job);
  void look();
  void wake_loop() const;
  void wake_up();
  void finish(LocalJob& job);
  std::unique_ptr<RunWatch> take_watch(const std::string& path);
};

namespace {

/// `name` is one of `names`.
bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_headers(evhttp_request* request, const LocalReply& reply) {
  evkeyvalq* const headers = evhttp_request_get_output_headers(request);
  const std::pair<const char*, const char*> kAlways[] = {{"Connection", "close"},
                                                         {"Cache-Control", "no-store"},
                                                         {"Referrer-Policy", "no-referrer"},
                                                         {"X-Content-Type-Options", "nosniff"},
                                                         {"Cross-Origin-Resource-Policy", "same-origin"}};
  for (const auto& [name, value] : kAlways) evhttp_add_header(headers, name, value);
  evhttp_add_header(headers, "Content-Type", reply.type.c_str());
  for (const auto& [name, value] : reply.headers) evhttp_add_header(headers, name.c_str(), value.c_str());
}

void send(evhttp_request* request, const LocalReply& reply) {
  const EventBuffer body(evbuffer_new());
  add_headers(request, reply);
  evbuffer_add(body.get(), reply.body.data(), reply.body.size());
  evhttp_send_reply(request, reply.status, nullptr, body.get());
}

void send_line(evhttp_request* request, const std::string& line) {
  const EventBuffer part(evbuffer_new());
  evbuffer_add_printf(part.get(), "%s\n", line.c_str());
  evhttp_send_reply_chunk(request, part.get());
}

void send_news(LocalJob& job) {
  const RunWatch::Progress news = job.watch->progress();
  if (news.total == 0 || news.done == job.sent) return;
  job.sent = news.done;
  send_line(job.request, Json{{"done", news.done}, {"total", news.total}, {"what", news.what}}.dump());
}

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

}  // namespace

Result<std::string> random_digits() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return Error{ErrorCode::kIo, "the system gives no random numbers", {}};
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

/// A browser names the page that sends a POST, and pages of other sites cannot change that.
bool LocalServer::State::trusts(const HttpRequest& r) const {
  if (r.host != fmt::format("127.0.0.1:{}", port) && r.host != fmt::format("localhost:{}", port)) return false;
  if (!r.get && (!r.post || r.origin != "http://" + r.host)) return false;
  return r.path.starts_with('/') && same_secret(std::string_view(r.path).substr(1, r.path.find('/', 1) - 1), secret);
}

std::optional<LocalReply> LocalServer::State::refusal(const std::optional<HttpRequest>& request) const {
  if (!request) return LocalReply{400, "text/plain", "this is no request of a page of busbar explore\n"};
  if (!trusts(*request)) return LocalReply{403, "text/plain", "refused: use the address that busbar explore printed\n"};
  if (has(paths.posts, request->path.substr(1 + secret.size())) != request->post)
    return LocalReply{404, "text/plain", "there is no such page\n"};
  return std::nullopt;
}

void LocalServer::State::come(evhttp_request* request) {
  bufferevent* const stream = evhttp_connection_get_bufferevent(evhttp_request_get_connection(request));
  waiting.take(stream);
  std::optional<HttpRequest> read = read_http_request(request);
  if (const std::optional<LocalReply> refused = refusal(read)) return send(request, *refused);
  if (ends) return send(request, {503, "text/plain", "busbar explore ends\n"});
  LocalJob& job = jobs.emplace_back();
  job.request = request;
  job.asked = {read->path.substr(1 + secret.size()), std::move(read->values), std::move(read->body)};
  job.progress = has(paths.with_progress, job.asked.path);
  job.watch = take_watch(job.asked.path);
  job.leave = [this, &job] { forget(job); };
  const auto leave = [](evutil_socket_t, short, void* to) {
    const std::function<void()> call = static_cast<LocalJob*>(to)->leave;  // the job may go
    call();
  };
  job.left.reset(event_new(base.get(), bufferevent_getfd(stream), EV_CLOSED, leave, &job));
  event_add(job.left.get(), nullptr);
  begin_jobs();
}

/// Its client has left. A request that waits for its turn goes at once.
void LocalServer::State::forget(LocalJob& job) {
  job.stop(SIGTERM);
  if (job.thread.joinable()) return;
  job.left.reset();
  send(job.request, {503, "text/plain", "the client has left\n"});
  remove(job);
}

void LocalServer::State::remove(const LocalJob& job) {
  jobs.remove_if([&](const LocalJob& other) { return &other == &job; });
}

void LocalServer::State::begin_jobs() {
  std::size_t n = 0;
  for (LocalJob& job : jobs)
    if (++n <= kMostInWork && !job.thread.joinable()) begin(job);
}

void LocalServer::State::begin(LocalJob& job) {
  job.deadline = Clock::now() + (job.progress ? paths.long_limit : paths.limit);
  if (job.progress) {
    add_headers(job.request, {200, "application/x-ndjson", ""});
    evhttp_send_reply_start(job.request, HTTP_OK, nullptr);
  }
  job.thread = std::thread([this, &job] {
    job.reply = answer(job.asked, *job.watch);
    const std::lock_guard lock(mutex);
    made.push_back(&job);
    wake_loop();
  });
}

/// Whether a request in work takes too much time or memory, or has progress to send.
void LocalServer::State::look() {
  waiting.look();
  for (LocalJob& job : jobs) {
    if (!job.thread.joinable()) continue;
    if (Clock::now() > job.deadline) job.stop(kTookTooLong);
    if (step::memory_of_process() > kMostMemory) job.stop(kTookTooMuch);
    if (job.progress && !job.stopped) send_news(job);
  }
}

void LocalServer::State::wake_loop() const {
  static_cast<void>(!write(wake[1], "", 1));  // a full pipe wakes as well
}

/// Answers are made, or the server shall end.
void LocalServer::State::wake_up() {
  std::array<char, 64> bytes{};
  static_cast<void>(!read(wake[0], bytes.data(), bytes.size()));
  std::vector<LocalJob*> ready;
  {
    const std::lock_guard lock(mutex);
    ready.swap(made);
    ends = end_wanted;
  }
  if (ends) jobs.remove_if([](const LocalJob& job) { return !job.thread.joinable(); });
  for (LocalJob* const job : ready) finish(*job);
  if (!ends) return;
  for (LocalJob& job : jobs) job.stop(SIGTERM);
  if (jobs.empty()) event_base_loopbreak(base.get());
}

void LocalServer::State::finish(LocalJob& job) {
  job.thread.join();
  job.left.reset();
  if (job.reply.status == 200) idle[job.asked.path].push_back(std::move(job.watch));
  if (job.progress) {
    send_line(job.request, job.reply.body);
    evhttp_send_reply_end(job.request);
  } else {
    send(job.request, job.reply);
  }
  remove(job);
  begin_jobs();
}

std::unique_ptr<RunWatch> LocalServer::State::take_watch(const std::string& path) {
  auto& free = idle[path];
  if (free.empty()) return std::make_unique<RunWatch>();
  std::unique_ptr<RunWatch> out = std::move(free.back());
  free.pop_back();
  out->reset();
  return out;
}

bool LocalServer::State::serve(int listener) {
  event_set_log_callback([](int, const char*) {});  // it would warn of every client that leaves early
  base.reset(event_base_new());
  if (!base) return false;
  http.reset(evhttp_new(base.get()));
  if (!http) return false;
  evhttp_set_timeout(http.get(), static_cast<int>(kHttpPatience.count()));
  evhttp_set_max_headers_size(http.get(), kLongestHead);
  evhttp_set_max_body_size(http.get(), LocalServer::kLongestBody);
  evhttp_set_allowed_methods(http.get(), std::numeric_limits<std::uint16_t>::max());  // refusal() looks at them
  evhttp_set_flags(http.get(), EVHTTP_SERVER_LINGERING_CLOSE);  // who sends too much still gets the answer
  evhttp_set_bevcb(
      http.get(), [](event_base* b, void* to) { return static_cast<State*>(to)->waiting.add(b); }, this);
  evhttp_set_gencb(
      http.get(), [](evhttp_request* request, void* to) { static_cast<State*>(to)->come(request); }, this);
  woken.reset(event_new(
      base.get(), wake[0], EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* to) { static_cast<State*>(to)->wake_up(); }, this));
  tick.reset(event_new(
      base.get(), -1, EV_PERSIST, [](evutil_socket_t, short, void* to) { static_cast<State*>(to)->look(); }, this));
  return event_add(woken.get(), nullptr) == 0 && event_add(tick.get(), &kLook) == 0 &&
         evhttp_accept_socket(http.get(), listener) == 0;
}

LocalServer::LocalServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<LocalServer>> LocalServer::open(std::uint32_t port, Answer answer, ServerPaths paths) {
  auto state = std::make_unique<State>();
  BUSBAR_ASSIGN(state->secret, random_digits());
  state->answer = std::move(answer);
  state->paths = std::move(paths);
  int listener = -1;
  const std::optional<std::uint32_t> bound = listen_on(port, listener);
  if (!bound || pipe2(state->wake, O_CLOEXEC | O_NONBLOCK) != 0 || !state->serve(listener)) {
    if (listener >= 0) close(listener);
    return Error{ErrorCode::kIo,
                 fmt::format("port {} is in use or not allowed; use another, or 0 for any free one", port),
                 {"", 0, 0, "--port"}};
  }
  state->port = *bound;
  state->loop = std::thread([s = state.get()] {
    sigset_t broken_pipe;  // of a client that left; libevent writes without MSG_NOSIGNAL
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
    event_base_dispatch(s->base.get());
  });
  return std::unique_ptr<LocalServer>(new LocalServer(std::move(state)));
}

LocalServer::~LocalServer() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->end_wanted = true;
    state_->wake_loop();
  }
  state_->loop.join();
}

std::string LocalServer::address() const {
  return fmt::format("http://127.0.0.1:{}/{}/", state_->port, state_->secret);
}

std::uint32_t LocalServer::port() const { return state_->port; }

}  // namespace busbar::cli
