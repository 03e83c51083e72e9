// The bytes read so far from an input that can be read only once. Private to base.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <mutex>
#include <string>

namespace busbar {

class PipedBytes {
 public:
  explicit PipedBytes(int fd) : fd_(fd) {}  ///< closes it at the end, unless it is standard input
  explicit PipedBytes(std::unique_ptr<std::istream> stream) : fd_(-1), stream_(std::move(stream)) {}
  ~PipedBytes();
  PipedBytes(const PipedBytes&) = delete;
  PipedBytes& operator=(const PipedBytes&) = delete;

  /// Up to `most` bytes starting at `at`; none at the end, or beyond kMostInput bytes.
  std::string piece(std::size_t at, std::size_t most);
  std::uint64_t digest() const;  ///< of the bytes read
  /// errno of a failed read, EFBIG if there are too many bytes, 0 otherwise
  int error() const;

 private:
  bool read_more();
  std::ptrdiff_t read_piece(char* to, std::size_t size);  ///< -1: errno says why

  const int fd_;  ///< -1: a stream
  const std::unique_ptr<std::istream> stream_;
  mutable std::mutex mutex_;  // guards the members below
  std::string bytes_;
  bool ended_ = false;
  int error_ = 0;
};

}  // namespace busbar
