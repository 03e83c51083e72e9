#include "busbar/base/internal/piped_bytes.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "busbar/base/input.h"
#include "busbar/base/quantity.h"

namespace busbar {

PipedBytes::~PipedBytes() {
  if (fd_ >= 0 && fd_ != STDIN_FILENO) close(fd_);
}

std::string PipedBytes::piece(std::size_t at, std::size_t most) {
  const std::lock_guard lock(mutex_);
  while (bytes_.size() < at + most && read_more()) {
  }
  return bytes_.substr(std::min(at, bytes_.size()), most);
}

std::uint64_t PipedBytes::digest() const {
  const std::lock_guard lock(mutex_);
  return hash64(bytes_);
}

int PipedBytes::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

std::ptrdiff_t PipedBytes::read_piece(char* to, std::size_t size) {
  if (!stream_) return read(fd_, to, size);
  stream_->read(to, static_cast<std::streamsize>(size));
  return stream_->gcount();
}

bool PipedBytes::read_more() {
  constexpr std::size_t kPiece = 64 << 10;
  if (ended_) return false;
  const std::size_t kept = bytes_.size();
  bytes_.resize(kept + kPiece);
  const std::ptrdiff_t got = read_piece(bytes_.data() + kept, kPiece);
  if (got < 0 && errno != EINTR) error_ = errno;
  bytes_.resize(kept + static_cast<std::size_t>(std::max<std::ptrdiff_t>(got, 0)));
  if (bytes_.size() > kMostInput) error_ = EFBIG;
  ended_ = got == 0 || error_ != 0;
  return true;
}

}  // namespace busbar
