// What streams that unpack compressed data on the fly have in common, whatever packed them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>
#include <vector>

#include "busbar/base/result.h"

namespace busbar {

inline constexpr std::uint64_t kMostUnpacked = std::uint64_t{1} << 30;

/// Why unpacking stopped. A reader that sees a stream end early finds the cause here.
struct UnpackFailure {
  std::string message;  ///< empty: no failure
};

/// Ok without a failure; otherwise the failure with the file's name.
Status status_of(const UnpackFailure& failure, const std::string& name);

/// A format unpacks one piece at a time; this class hands the pieces out, keeps the limit, and reads the packed bytes.
class UnpackingBuffer : public std::streambuf {
 public:
  struct Words {
    const char* format;  ///< "gzip"
    const char* tool;    ///< "gunzip"
  };
  /// Reads and unpacks at most `piece` bytes at a time.
  UnpackingBuffer(std::unique_ptr<std::istream> packed, std::shared_ptr<UnpackFailure> failure, std::uint64_t most,
                  std::size_t piece, Words words);
  UnpackingBuffer(const UnpackingBuffer&) = delete;
  UnpackingBuffer& operator=(const UnpackingBuffer&) = delete;

 protected:
  int_type underflow() final;
  /// Unpacks into `out` and returns the number of bytes. It is called again until the end or a failure.
  virtual std::size_t unpack(std::vector<char>& out) = 0;

  /// Reads more packed bytes into packed_bytes(); returns how many.
  std::size_t read_packed();
  std::vector<char>& packed_bytes() { return in_; }
  /// There are no more packed bytes; `within`: they end within compressed data, which is a failure.
  void end(bool within);
  void fail(std::string why);
  /// `left`: bytes read and not unpacked.
  void fail_broken(std::size_t left, const char* why);

 private:
  std::unique_ptr<std::istream> packed_;
  std::shared_ptr<UnpackFailure> failure_;
  const std::uint64_t most_;
  const Words words_;
  std::vector<char> in_, out_;
  std::uint64_t read_ = 0, unpacked_ = 0;
  bool ended_ = false;
};

/// The stream that owns such a buffer.
class UnpackingStream : public std::istream {
 public:
  explicit UnpackingStream(std::unique_ptr<UnpackingBuffer> buffer)
      : std::istream(buffer.get()), buffer_(std::move(buffer)) {}

 private:
  std::unique_ptr<UnpackingBuffer> buffer_;
};

}  // namespace busbar
