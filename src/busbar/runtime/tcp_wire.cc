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

#include "busbar/runtime/internal/told.h"

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

Result<Mesh> Mesh::make(std::uint32_t actors, std::uint32_t lanes) {
  Mesh mesh(actors, lanes);
  for (std::uint32_t a = 0; a < actors; ++a)
    for (std::uint32_t b = 0; b < a; ++b)
      for (std::uint32_t l = 0; l < lanes; ++l)
        BUSBAR_RETURN_IF_ERROR(connect_pair(mesh.ends_[mesh.at(a, b, l)], mesh.ends_[mesh.at(b, a, l)]));
  return mesh;
}

Mesh::~Mesh() {
  for (const int s : ends_)
    if (s >= 0) close(s);
}

void Mesh::keep(std::uint32_t actor) {
  for (std::size_t i = 0; i < ends_.size(); ++i)
    if (i / lanes_ / actors_ != actor && ends_[i] >= 0) {
      close(ends_[i]);
      ends_[i] = -1;
    }
}

void Mesh::set_end(std::uint32_t actor, std::uint32_t peer, std::uint32_t lane, int socket) {
  prepare_socket(socket);
  ends_[at(actor, peer, lane)] = socket;
}

TcpWire::TcpWire(const Mesh& mesh, std::uint32_t actor)
    : actor_(actor),
      lanes_(mesh.lanes()),
      links_(std::size_t{mesh.actors()} * mesh.lanes()),
      texts_(mesh.actors()),
      why_(mesh.actors()) {
  for (std::uint32_t p = 0; p < mesh.actors(); ++p)
    for (std::uint32_t l = 0; l < lanes_; ++l) {
      links_[p * lanes_ + l].socket = mesh.end(actor, p, l);
      if (p != actor) from_.push_back(p * lanes_ + l);
    }
  to_ = from_;
}

Counter* TcpWire::counters(std::uint32_t threads) {
  end();
  counters_ = std::vector<Counter>(threads);
  return counters_.data();
}

void TcpWire::begin(std::uint32_t task, const Stage& stage) {
  task_ = task;
  stage_ = stage;
  const Executable& x = *stage.program;
  told_ = told_of(x);
  std::vector<bool> from(links_.size()), to(links_.size());
  for (std::uint32_t s = 0; s < x.plan.steps.size(); ++s) {
    const std::uint32_t of = x.plan.rank_of(x.plan.steps[s]), lane = lane_of(x.plan.steps[s].thread);
    for (const std::uint32_t a : told_.row(s)) {
      if (of == actor_) to[a * lanes_ + lane] = true;
      if (a == actor_) from[of * lanes_ + lane] = true;
    }
  }
  const auto chosen = [&](const std::vector<bool>& links, std::vector<std::uint32_t>& out) {
    out.clear();
    for (std::uint32_t l = 0; l < links.size(); ++l)
      if (links[l]) out.push_back(l);
  };
  chosen(from, from_);
  chosen(to, to_);
  reached_.assign(x.threads(), 0);
}

bool TcpWire::send(std::uint32_t step, const std::byte* data) {
  std::uint32_t& reached = reached_[stage_.program->plan.steps[step].thread];
  for (const auto told = told_.row(step); reached < told.size(); ++reached)
    if (!send_to(told[reached], step, data)) {
      const auto threads = stage_.program->threads_of.row(told[reached]);
      if (!threads.empty()) stage_.board->seat(actor_).waits_for.store(threads[0], std::memory_order_relaxed);
      lose_closed(told[reached]);
      return false;
    }
  reached = 0;
  return true;
}

/// True: the frame needs its data no longer.
bool TcpWire::send_to(std::uint32_t peer, std::uint32_t step, const std::byte* data) {
  constexpr std::size_t kSmall = 512, kMostHeld = 16 << 10;
  const collectives::PlanStep& s = stage_.program->plan.steps[step];
  Link& l = links_[peer * lanes_ + lane_of(s.thread)];
  if (l.sender != kNone32 && l.sender != s.thread) return false;
  if (l.sender == kNone32) {
    if (l.small.size() > kMostHeld && !flush(l)) return false;
    Header h{Kind::kStep, task_, step, actor_, stage_.done[s.thread].value.load(std::memory_order_relaxed) + 1, 0};
    for (const collectives::PlanSlice& w : stage_.program->plan.writes.row(step))
      if (w.rank == peer) h.bytes = s.count * stage_.filling.chunk_bytes();
    const auto* const header = reinterpret_cast<const std::byte*>(&h);
    l.small.insert(l.small.end(), header, header + sizeof h);
    if (h.bytes <= kSmall) {
      if (h.bytes > 0) l.small.insert(l.small.end(), data, data + h.bytes);
      return true;
    }
    l.sender = s.thread;
    l.data = data;
    l.bytes = h.bytes;
    l.sent = 0;
  }
  if (!flush(l)) return false;
  l.sender = kNone32;
  l.bytes = l.sent = 0;
  return true;
}

/// True: all has gone into the socket.
bool TcpWire::flush(Link& l) {
  const std::size_t held = l.small.size() - l.small_sent, left = l.bytes - l.sent;
  if (held + left == 0) return true;
  iovec parts[] = {{l.small.data() + l.small_sent, held}, {const_cast<std::byte*>(l.data) + l.sent, left}};
  msghdr message{};
  message.msg_iov = held > 0 ? parts : parts + 1;
  message.msg_iovlen = (held > 0 ? 1 : 0) + (left > 0 ? 1 : 0);
  const auto n = static_cast<std::size_t>(std::max<ssize_t>(0, sendmsg(l.socket, &message, MSG_NOSIGNAL)));
  l.small_sent += std::min(n, held);
  l.sent += n - std::min(n, held);
  if (l.small_sent == l.small.size()) {
    l.small.clear();
    l.small_sent = 0;
  }
  return n == held + left;
}

/// What was read ahead first; what is asked for and more than fits there is read to its place at once.
std::size_t TcpWire::receive(Link& l, std::byte* to, std::size_t bytes) {
  const auto taken = [&](std::byte* at, std::size_t most) -> std::size_t {
    const ssize_t n = recv(l.socket, at, most, 0);
    l.closed = l.closed || n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    return static_cast<std::size_t>(std::max<ssize_t>(0, n));
  };
  if (l.first == l.last && bytes >= l.ahead.size()) return taken(to, bytes);
  if (l.first == l.last) {
    l.first = 0;
    l.last = taken(l.ahead.data(), l.ahead.size());
  }
  const std::size_t n = std::min(bytes, l.last - l.first);
  std::memcpy(to, l.ahead.data() + l.first, n);
  l.first += n;
  return n;
}

/// Frames of a task before say nothing but how far its threads are.
bool TcpWire::makes_sense(const Header& h) const {
  constexpr std::uint64_t kMostText = 64 << 20;
  if (h.kind != Kind::kStep) return h.kind <= Kind::kWhy && h.bytes <= kMostText;
  if (h.task != task_) return h.bytes == 0;
  const auto& plan = stage_.program->plan;
  if (h.step >= plan.steps.size()) return false;
  std::uint64_t bytes = 0;
  for (const collectives::PlanSlice& w : plan.writes.row(h.step))
    if (w.rank == actor_) bytes = plan.steps[h.step].count * stage_.filling.chunk_bytes();
  return h.bytes == bytes;
}

/// True: the header is complete, and `to` is where its data belong.
bool TcpWire::take_header(Link& l) {
  if (l.to != nullptr) return true;
  l.received += receive(l, reinterpret_cast<std::byte*>(&l.in) + l.received, sizeof(Header) - l.received);
  if (l.received < sizeof(Header)) return false;
  l.received = 0;
  if (!makes_sense(l.in)) {
    l.closed = true;
    return false;
  }
  l.to = reinterpret_cast<std::byte*>(&l.in);
  if (l.in.kind != Kind::kStep) {
    l.text.resize(l.in.bytes);
    l.to = reinterpret_cast<std::byte*>(l.text.data());
  } else if (l.in.task == task_) {
    for (const collectives::PlanSlice& w : stage_.program->plan.writes.row(l.in.step))
      if (w.rank == actor_) l.to = stage_.memory[actor_] + stage_.program->place(w) * stage_.filling.chunk_bytes();
  }
  return true;
}

/// True: all data have arrived.
bool TcpWire::take_data(Link& l) {
  if (l.received < l.in.bytes) l.received += receive(l, l.to + l.received, l.in.bytes - l.received);
  return l.received == l.in.bytes;
}

void TcpWire::finish(Link& l) {
  const auto peer = static_cast<std::uint32_t>((&l - links_.data()) / lanes_);
  switch (l.in.kind) {
    case Kind::kStep:
      if (l.in.task == task_)
        stage_.done[stage_.program->plan.steps[l.in.step].thread].value.store(l.in.done, std::memory_order_release);
      return;
    case Kind::kArrived:
      if (board_ != nullptr) board_->note_arrival(peer, l.in.done);
      return;
    case Kind::kText:
      texts_[peer].push_back(std::move(l.text));
      return;
    case Kind::kWhy:
      why_[peer] = std::move(l.text);
      if (!lost_ && l.in.peer < texts_.size()) lost_ = l.in.peer;
      if (board_ != nullptr) board_->end_run();
  }
}

void TcpWire::take(Link& l) {
  while (!l.closed && take_header(l) && take_data(l)) {
    finish(l);
    l.received = 0;
    l.to = nullptr;
  }
}

/// On one host the parent of all processes sees that one has ended.
bool TcpWire::poll() {
  bool sent = true;
  const auto send = [&](Link& l) { sent = (l.small.empty() || l.closed || flush(l)) && sent; };
  if (board_ == nullptr) {
    for (const std::uint32_t l : from_) take(links_[l]);
    for (const std::uint32_t l : to_) send(links_[l]);
    return sent;
  }
  for (Link& l : links_) {
    if (l.socket < 0 || l.closed) continue;
    take(l);
    send(l);
  }
  return sent;
}

bool TcpWire::holds() const {
  return std::any_of(links_.begin(), links_.end(), [](const Link& l) { return !l.small.empty() && !l.closed; });
}

void TcpWire::join(Board& board) {
  board_ = &board;
  board.use(this);
}

/// A frame without a step. While data go out on that socket it is left out: the run has ended then anyway.
void TcpWire::post(std::uint32_t peer, const Header& h, const std::string& text) {
  Link& l = links_[peer * lanes_];
  if (l.socket < 0 || l.closed || l.sender != kNone32) return;
  const auto* const header = reinterpret_cast<const std::byte*>(&h);
  const auto* const words = reinterpret_cast<const std::byte*>(text.data());
  l.small.insert(l.small.end(), header, header + sizeof h);
  l.small.insert(l.small.end(), words, words + text.size());
}

void TcpWire::arrived(std::uint64_t round) {
  for (std::uint32_t p = 0; p < texts_.size(); ++p) post(p, {Kind::kArrived, 0, 0, actor_, round, 0}, "");
}

void TcpWire::wait_for(std::uint32_t actor) {
  poll();
  lose_closed(actor);
}

void TcpWire::send_text(std::uint32_t peer, const std::string& text) {
  post(peer, {Kind::kText, 0, 0, actor_, 0, text.size()}, text);
}

std::optional<std::string> TcpWire::take_text(std::uint32_t peer) {
  poll();
  if (texts_[peer].empty()) {
    lose_closed(peer);
    return std::nullopt;
  }
  std::string out = std::move(texts_[peer].front());
  texts_[peer].erase(texts_[peer].begin());
  return out;
}

void TcpWire::lose_closed(std::uint32_t peer) {
  const auto begin = links_.begin() + peer * lanes_;
  if (peer == actor_ || board_ == nullptr ||
      std::none_of(begin, begin + lanes_, [](const Link& l) { return l.closed; }))
    return;
  if (!lost_) lost_ = peer;
  board_->end_run();
}

void TcpWire::tell_why(const std::string& words) {
  for (std::uint32_t p = 0; p < texts_.size(); ++p)
    post(p, {Kind::kWhy, 0, 0, lost_.value_or(kNone32), 0, words.size()}, words);
  poll();
}

}  // namespace busbar::runtime
