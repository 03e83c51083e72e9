#include "busbar/cli/http_intake.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

namespace busbar::cli {

HttpIntake::HttpIntake(int listener, int stop, std::function<std::size_t(const HttpHead&)> longest_body)
    : listener_(listener), stop_(stop), longest_body_(std::move(longest_body)) {}

HttpIntake::~HttpIntake() {
  for (const Waiting& w : waiting_) close(w.request.connection);
}

std::optional<WholeRequest> HttpIntake::next() {
  while (true) {
    std::vector<pollfd> files{{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Waiting& w : waiting_) files.push_back({w.request.connection, POLLIN, 0});
    if (poll(files.data(), files.size(), patience_ms()) < 0 && errno != EINTR) return std::nullopt;
    if (files[0].revents != 0) return std::nullopt;
    std::size_t file = 2;
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      const auto w = it++;
      if (files[file++].revents == 0) continue;
      const Came came = read_some(*w);
      if (came == Came::kMore) continue;
      WholeRequest request = std::move(w->request);
      waiting_.erase(w);
      if (came == Came::kWhole) return request;
      close(request.connection);
    }
    end_late();
    if (files[1].revents != 0) take_new();
  }
}

void HttpIntake::take_new() {
  const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) return;  // the browser has left
  if (waiting_.size() == kMostWaiting) {
    close(waiting_.front().request.connection);
    waiting_.pop_front();
  }
  Waiting w;
  w.request.connection = connection;
  w.deadline = Clock::now() + kHttpPatience;
  waiting_.push_back(std::move(w));
}

void HttpIntake::end_late() {
  for (const Clock::time_point now = Clock::now(); !waiting_.empty() && waiting_.front().deadline <= now;) {
    close(waiting_.front().request.connection);
    waiting_.pop_front();
  }
}

int HttpIntake::patience_ms() const {
  if (waiting_.empty()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(waiting_.front().deadline - Clock::now());
  return std::max(0, static_cast<int>(left.count()));
}

HttpIntake::Came HttpIntake::read_some(Waiting& w) const {
  std::array<char, 16384> part{};
  const ssize_t got = recv(w.request.connection, part.data(), part.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Came::kMore;
  if (got <= 0) return Came::kNothing;
  w.text.append(part.data(), static_cast<std::size_t>(got));
  if (!w.request.head)
    if (const Came head = read_head(w); head != Came::kMore || !w.request.head) return head;
  if (w.text.size() < w.missing) return Came::kMore;
  w.request.body = w.text.substr(0, w.missing);
  return Came::kWhole;
}

/// kMore with a head: the body follows.
HttpIntake::Came HttpIntake::read_head(Waiting& w) const {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::size_t end = w.text.find(kEnd);
  if (end == std::string::npos) return w.text.size() > kLongestHead ? Came::kNothing : Came::kMore;
  w.request.head = parse_http_head(std::string_view(w.text).substr(0, end + 2));
  if (!w.request.head) return Came::kWhole;
  w.text.erase(0, end + kEnd.size());
  w.missing = static_cast<std::size_t>(w.request.head->content_length);
  w.request.too_long = w.request.head->content_length > longest_body_(*w.request.head);
  return w.request.too_long || w.missing == 0 ? Came::kWhole : Came::kMore;
}

}  // namespace busbar::cli
