#include "busbar/runtime/internal/tcp_wire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

namespace busbar::runtime {
namespace {

Error socket_error(const char* what) {
  return Error{ErrorCode::kIo, fmt::format("{} on 127.0.0.1: {}", what, std::strerror(errno)), {}};
}

/// The same congestion control on every host: what another one makes of a loopback interface differs by a factor.
void prepare_socket(int s) {
  const int yes = 1;
  setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
  fcntl(s, F_SETFL, O_NONBLOCK);
}

/// Accepts the connection from `port` and refuses all others.
int accept_from(int listener, std::uint16_t port) {
  for (;;) {
    sockaddr_in from{};
    socklen_t size = sizeof from;
    const int s = accept(listener, reinterpret_cast<sockaddr*>(&from), &size);
    if (s < 0 || from.sin_port == port) return s;
    close(s);
  }
}

Status connect_pair(int& a, int& b) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  a = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  sockaddr_in own{};
  const bool ok = listener >= 0 && a >= 0 && bind(listener, any, size) == 0 && listen(listener, 4) == 0 &&
                  getsockname(listener, any, &size) == 0 && connect(a, any, size) == 0 &&
                  getsockname(a, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  b = ok ? accept_from(listener, own.sin_port) : -1;
  const int failed = errno;
  if (listener >= 0) close(listener);
  errno = failed;
  if (b < 0) return socket_error("no connection");
  prepare_socket(a);
  prepare_socket(b);
  return {};
}

}  // namespace

Result<Mesh> Mesh::make(std::uint32_t actors) {
  Mesh mesh(actors);
  for (std::uint32_t a = 0; a < actors; ++a)
    for (std::uint32_t b = 0; b < a; ++b)
      BUSBAR_RETURN_IF_ERROR(
          connect_pair(mesh.ends_[std::size_t{a} * actors + b], mesh.ends_[std::size_t{b} * actors + a]));
  return mesh;
}

Mesh::~Mesh() {
  for (const int s : ends_)
    if (s >= 0) close(s);
}

void Mesh::keep(std::uint32_t actor) {
  for (std::size_t i = 0; i < ends_.size(); ++i)
    if (i / actors_ != actor && ends_[i] >= 0) {
      close(ends_[i]);
      ends_[i] = -1;
    }
}

TcpWire::TcpWire(const Mesh& mesh, std::uint32_t actor, std::uint32_t actors) : actor_(actor), peers_(actors) {
  for (std::uint32_t p = 0; p < actors; ++p) peers_[p].socket = mesh.end(actor, p);
}

void TcpWire::begin(std::uint32_t task, const Stage& stage) {
  task_ = task;
  stage_ = stage;
  const Executable& x = *stage.program;
  std::vector<std::set<std::uint32_t>> told(x.plan.steps.size());
  for (std::uint32_t s = 0; s < x.plan.steps.size(); ++s) {
    const std::uint32_t waits = x.plan.rank_of(x.plan.steps[s]);
    for (const Wait& w : x.waits.row(s)) told[x.first_step[w.thread] + w.steps - 1].insert(waits);
    for (const std::uint32_t t : x.earlier.row(s))
      if (x.steps_of(t) > 0) told[x.first_step[t + 1] - 1].insert(waits);
  }
  told_.clear();
  for (std::uint32_t s = 0; s < told.size(); ++s) {
    for (const collectives::PlanSlice& w : x.plan.writes.row(s)) told[s].insert(w.rank);
    if (x.plan.rank_of(x.plan.steps[s]) == actor_)
      for (const std::uint32_t a : told[s])
        if (a != actor_) told_.values.push_back(a);
    told_.close_row();
  }
}

void TcpWire::finished(std::uint32_t step, const std::byte* data) {
  const collectives::PlanStep& s = stage_.program->plan.steps[step];
  for (const std::uint32_t a : told_.row(step)) {
    Header h{task_, step, stage_.done[s.thread].value.load(std::memory_order_relaxed), 0};
    for (const collectives::PlanSlice& w : stage_.program->plan.writes.row(step))
      if (w.rank == a) h.bytes = s.count * stage_.filling.chunk_bytes();
    send(peers_[a], h, data);
  }
}

void TcpWire::send(Peer& p, const Header& h, const std::byte* data) {
  std::size_t gone = 0;
  if (p.waiting.empty()) {
    iovec parts[] = {{const_cast<Header*>(&h), sizeof h}, {const_cast<std::byte*>(data), h.bytes}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = h.bytes > 0 ? 2 : 1;
    gone = static_cast<std::size_t>(std::max<ssize_t>(0, sendmsg(p.socket, &message, MSG_NOSIGNAL)));
  }
  const auto keep = [&](const std::byte* from, std::size_t bytes) {
    const std::size_t skip = std::min(gone, bytes);
    gone -= skip;
    p.waiting.insert(p.waiting.end(), from + skip, from + bytes);
  };
  keep(reinterpret_cast<const std::byte*>(&h), sizeof h);
  if (h.bytes > 0) keep(data, h.bytes);
}

void TcpWire::flush(Peer& p) {
  if (p.waiting.empty()) return;
  const ssize_t n = ::send(p.socket, p.waiting.data() + p.sent, p.waiting.size() - p.sent, MSG_NOSIGNAL);
  if (n > 0) p.sent += static_cast<std::size_t>(n);
  if (p.sent < p.waiting.size()) return;
  p.waiting.clear();
  p.sent = 0;
}

/// True: the header is complete, and `to` is where its data belong.
bool TcpWire::take_header(Peer& p) {
  if (p.to != nullptr) return true;
  auto* const into = reinterpret_cast<std::byte*>(&p.header) + p.received;
  const ssize_t n = recv(p.socket, into, sizeof(Header) - p.received, 0);
  if (n <= 0) return false;
  p.received += static_cast<std::size_t>(n);
  if (p.received < sizeof(Header)) return false;
  p.received = 0;
  p.to = reinterpret_cast<std::byte*>(&p.header);
  if (p.header.task != task_) return true;
  for (const collectives::PlanSlice& w : stage_.program->plan.writes.row(p.header.step))
    if (w.rank == actor_) p.to = stage_.memory[actor_] + stage_.program->place(w) * stage_.filling.chunk_bytes();
  return true;
}

/// True: all data have arrived.
bool TcpWire::take_data(Peer& p) {
  if (p.received < p.header.bytes) {
    const ssize_t n = recv(p.socket, p.to + p.received, p.header.bytes - p.received, 0);
    if (n <= 0) return false;
    p.received += static_cast<std::size_t>(n);
  }
  return p.received == p.header.bytes;
}

void TcpWire::take(Peer& p) {
  while (take_header(p) && take_data(p)) {
    if (p.header.task == task_) {
      const std::uint32_t thread = stage_.program->plan.steps[p.header.step].thread;
      stage_.done[thread].value.store(p.header.done, std::memory_order_release);
    }
    p.received = 0;
    p.to = nullptr;
  }
}

bool TcpWire::poll() {
  bool empty = true;
  for (Peer& p : peers_) {
    if (p.socket < 0) continue;
    flush(p);
    take(p);
    empty = empty && p.waiting.empty();
  }
  return empty;
}

}  // namespace busbar::runtime
