// What was read so far of something that gives its bytes once. Private to base.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

namespace busbar {

class PipedBytes {
 public:
  explicit PipedBytes(int fd) : fd_(fd) {}  ///< closes it in the end, unless it is standard input
  ~PipedBytes();
  PipedBytes(const PipedBytes&) = delete;
  PipedBytes& operator=(const PipedBytes&) = delete;

  /// Up to `most` bytes from `at` on; none at the end, and where kMostInput bytes are there.
  std::string piece(std::size_t at, std::size_t most);
  std::uint64_t digest() const;  ///< of what was read
  /// errno of a read that failed, EFBIG where there is too much, 0 where all is well.
  int error() const;

 private:
  bool read_more();

  const int fd_;
  mutable std::mutex mutex_;  // guards what follows
  std::string bytes_;
  bool ended_ = false;
  int error_ = 0;
};

}  // namespace busbar
