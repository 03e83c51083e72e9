#include "busbar/runtime/internal/host_sockets.h"

#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "busbar/runtime/internal/proof.h"

namespace busbar::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// A descriptor of the system, closed with the object.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

  /// Waits at most so long for what is asked of it.
  void allow(double seconds) const {
    const double s = std::max(seconds, 1e-3);
    const timeval t{static_cast<time_t>(s),
                    static_cast<suseconds_t>((s - static_cast<double>(static_cast<time_t>(s))) * 1e6)};
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) setsockopt(fd_, SOL_SOCKET, option, &t, sizeof t);
  }
  bool read(void* to, std::size_t bytes) const {
    auto* at = static_cast<std::byte*>(to);
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t n = recv(fd_, at + done, bytes - done, 0);
      if (n <= 0) return false;
      done += static_cast<std::size_t>(n);
    }
    return true;
  }
  bool write(const void* from, std::size_t bytes) const {
    const auto* at = static_cast<const std::byte*>(from);
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t n = send(fd_, at + done, bytes - done, MSG_NOSIGNAL);
      if (n <= 0) return false;
      done += static_cast<std::size_t>(n);
    }
    return true;
  }

 private:
  int fd_;
};

struct FreeAddresses {
  void operator()(addrinfo* a) const { freeaddrinfo(a); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> resolve(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (colon == std::string::npos || host.empty() || colon + 1 == address.size())
    return Error{ErrorCode::kInvalid, fmt::format("'{}' is not an address such as 10.0.0.1:7000", address), {}};
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int e = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (e != 0) return Error{ErrorCode::kIo, fmt::format("no address of '{}': {}", address, gai_strerror(e)), {}};
  return Addresses(found);
}

// The first words of a connection. Who connects says who it is; then each proves that it knows the secret, the one who
// listens first; then both say what they were told to run.
struct Hello {
  char magic[8] = {'b', 'u', 's', 'b', 'a', 'r', '-', '1'};
  std::uint32_t rank = 0, lane = 0;
  std::byte dice[16] = {};
};
struct Answer {
  std::byte dice[16] = {};
  std::uint64_t proof = 0;
};

std::uint64_t proof_of(const Key& key, char who, const Hello& h, const Answer& a) {
  std::byte text[1 + sizeof h + sizeof a.dice];
  text[0] = static_cast<std::byte>(who);
  std::memcpy(text + 1, &h, sizeof h);
  std::memcpy(text + 1 + sizeof h, a.dice, sizeof a.dice);
  return keyed_hash(key, text);
}

constexpr std::uint32_t kMostWords = 1 << 16;

bool write_words(const Socket& s, const std::string& words) {
  const auto n = static_cast<std::uint32_t>(std::min<std::size_t>(words.size(), kMostWords));
  return s.write(&n, sizeof n) && s.write(words.data(), n);
}
std::optional<std::string> read_words(const Socket& s) {
  std::uint32_t n = 0;
  if (!s.read(&n, sizeof n) || n > kMostWords) return std::nullopt;
  std::string out(n, 0);
  return s.read(out.data(), n) ? std::optional(std::move(out)) : std::nullopt;
}

/// One process on its way into a group.
class Joining {
 public:
  Joining(const HostRun& run, const Key& key)
      : run_(run), key_(key), ranks_(static_cast<std::uint32_t>(run.addresses.size())), mesh_(ranks_, run.sockets) {}

  Result<Mesh> join(const Listener& listener) {
    for (std::uint32_t peer = 0; peer < run_.rank; ++peer)
      for (std::uint32_t lane = 0; lane < run_.sockets; ++lane) BUSBAR_RETURN_IF_ERROR(connect_to(peer, lane));
    for (std::uint32_t left = (ranks_ - 1 - run_.rank) * run_.sockets; left > 0;) {
      BUSBAR_ASSIGN(const bool came, accept_one(listener));
      left -= came ? 1 : 0;
    }
    return std::move(mesh_);
  }

 private:
  double left_s() const { return run_.timeout_s - std::chrono::duration<double>(Clock::now() - began_).count(); }
  std::string name(std::uint32_t peer) const { return fmt::format("rank {} ({})", peer, run_.addresses[peer]); }
  Status told_alike(std::uint32_t peer, const std::string& words) const {
    if (words == run_.run) return {};
    return Error{ErrorCode::kInvalid,
                 fmt::format("{} was told to run '{}', and this rank '{}'", name(peer), words, run_.run),
                 {}};
  }
  Status may_go_on() const {
    if (run_.stop != nullptr && *run_.stop != 0) return Error{ErrorCode::kIo, "stopped", {}};
    return {};
  }

  Status connect_to(std::uint32_t peer, std::uint32_t lane) {
    std::string why = "it is silent";
    for (; left_s() > 0; std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
      BUSBAR_RETURN_IF_ERROR(may_go_on());
      BUSBAR_ASSIGN(const Addresses addresses, resolve(run_.addresses[peer]));
      for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
        Socket s(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        s.allow(left_s());
        if (connect(s.fd(), a->ai_addr, a->ai_addrlen) == 0) return introduce(std::move(s), peer, lane);
        why = std::strerror(errno);
      }
    }
    return Error{ErrorCode::kIo,
                 fmt::format("{} cannot be reached within {:g} s (--timeout): {}; start its process on that host",
                             name(peer), run_.timeout_s, why),
                 {}};
  }

  Status introduce(Socket s, std::uint32_t peer, std::uint32_t lane) {
    const Error silent{
        ErrorCode::kIo,
        fmt::format("{} closed the connection or said nothing; does it have the same secret?", name(peer)),
        {}};
    Hello h;
    h.rank = run_.rank;
    h.lane = lane;
    BUSBAR_RETURN_IF_ERROR(fill_randomly(h.dice));
    Answer a;
    if (!s.write(&h, sizeof h) || !s.read(&a, sizeof a)) return silent;
    if (a.proof != proof_of(key_, 'l', h, a))
      return Error{ErrorCode::kInvalid, fmt::format("who listens as {} does not know the secret", name(peer)), {}};
    const std::uint64_t proof = proof_of(key_, 'c', h, a);
    if (!s.write(&proof, sizeof proof) || !write_words(s, run_.run)) return silent;
    const std::optional<std::string> words = read_words(s);
    if (!words) return silent;
    BUSBAR_RETURN_IF_ERROR(told_alike(peer, *words));
    mesh_.set_end(run_.rank, peer, lane, s.release());
    return {};
  }

  /// False: whoever came is none of us.
  Result<bool> accept_one(const Listener& listener) {
    constexpr int kTickMs = 50;
    constexpr double kPatience_s = 2;
    pollfd p{listener.socket(), POLLIN, 0};
    while (::poll(&p, 1, kTickMs) <= 0) {
      BUSBAR_RETURN_IF_ERROR(may_go_on());
      if (left_s() <= 0) return not_there();
    }
    Socket s(accept4(listener.socket(), nullptr, nullptr, SOCK_CLOEXEC));
    s.allow(kPatience_s);
    Hello h;
    const Hello wanted;
    if (!s.read(&h, sizeof h) || std::memcmp(h.magic, wanted.magic, sizeof h.magic) != 0) return false;
    Answer a;
    BUSBAR_RETURN_IF_ERROR(fill_randomly(a.dice));
    a.proof = proof_of(key_, 'l', h, a);
    std::uint64_t proof = 0;
    if (!s.write(&a, sizeof a) || !s.read(&proof, sizeof proof) || proof != proof_of(key_, 'c', h, a)) return false;
    return welcome(std::move(s), h);
  }

  Result<bool> welcome(Socket s, const Hello& h) {
    if (h.rank <= run_.rank || h.rank >= ranks_ || h.lane >= run_.sockets || mesh_.end(run_.rank, h.rank, h.lane) >= 0)
      return Error{ErrorCode::kInvalid, fmt::format("a second process says that it is rank {}", h.rank), {}};
    const std::optional<std::string> words = read_words(s);
    if (!words || !write_words(s, run_.run)) return false;
    BUSBAR_RETURN_IF_ERROR(told_alike(h.rank, *words));
    mesh_.set_end(run_.rank, h.rank, h.lane, s.release());
    return true;
  }

  Error not_there() const {
    std::string who;
    for (std::uint32_t r = run_.rank + 1; r < ranks_; ++r)
      if (mesh_.end(run_.rank, r, run_.sockets - 1) < 0) who += (who.empty() ? "" : ", ") + name(r);
    return {ErrorCode::kIo,
            fmt::format("{} did not come within {:g} s (--timeout); start its process on that host, with the same "
                        "secret",
                        who, run_.timeout_s),
            {}};
  }

  const HostRun& run_;
  const Key& key_;
  std::uint32_t ranks_;
  Mesh mesh_;
  Clock::time_point began_ = Clock::now();
};

}  // namespace

Result<Listener> Listener::open(const std::string& address) {
  BUSBAR_ASSIGN(const Addresses addresses, resolve(address));
  int failed = 0;
  for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
    Socket s(::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    auto* const named = reinterpret_cast<sockaddr*>(&own);
    if (bind(s.fd(), a->ai_addr, a->ai_addrlen) != 0 || listen(s.fd(), 64) != 0 ||
        getsockname(s.fd(), named, &size) != 0) {
      failed = errno;
      continue;
    }
    const std::uint16_t port = own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&own)->sin6_port
                                                         : reinterpret_cast<sockaddr_in*>(&own)->sin_port;
    return Listener(s.release(), ntohs(port));
  }
  return Error{ErrorCode::kIo, fmt::format("this process cannot listen on {}: {}", address, std::strerror(failed)), {}};
}

Listener::Listener(Listener&& other) noexcept : socket_(std::exchange(other.socket_, -1)), port_(other.port_) {}

Listener::~Listener() {
  if (socket_ >= 0) close(socket_);
}

Result<std::string> new_secret() {
  std::array<std::byte, sizeof(Key)> bytes;
  BUSBAR_RETURN_IF_ERROR(fill_randomly(bytes));
  std::string out;
  for (const std::byte b : bytes) out += fmt::format("{:02x}", std::to_integer<unsigned>(b));
  return out;
}

Result<Mesh> connect_hosts(const Listener& listener, const HostRun& run) {
  BUSBAR_ASSIGN(const Key key, parse_key(run.secret));
  return Joining(run, key).join(listener);
}

}  // namespace busbar::runtime
