#include "busbar/formats/zstd_stream.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <streambuf>
#include <vector>

namespace busbar {
namespace {

// Types and functions: zstd.h 1.5, which keeps them stable since 1.0. Nothing of zstd is needed to build.
struct InBuffer {
  const void* data;
  std::size_t size, at;
};
struct OutBuffer {
  void* data;
  std::size_t size, at;
};

struct ZstdLibrary {
  explicit ZstdLibrary(const char* name) {
    void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);  // stays loaded
    if (handle == nullptr) return;
    const auto find = [&](const char* function) { return dlsym(handle, function); };
    create = reinterpret_cast<void* (*)()>(find("ZSTD_createDStream"));
    free = reinterpret_cast<std::size_t (*)(void*)>(find("ZSTD_freeDStream"));
    unpack = reinterpret_cast<std::size_t (*)(void*, OutBuffer*, InBuffer*)>(find("ZSTD_decompressStream"));
    is_error = reinterpret_cast<unsigned (*)(std::size_t)>(find("ZSTD_isError"));
    error_name = reinterpret_cast<const char* (*)(std::size_t)>(find("ZSTD_getErrorName"));
  }
  bool complete() const { return create && free && unpack && is_error && error_name; }

  void* (*create)() = nullptr;
  std::size_t (*free)(void*) = nullptr;
  std::size_t (*unpack)(void*, OutBuffer*, InBuffer*) = nullptr;
  unsigned (*is_error)(std::size_t) = nullptr;
  const char* (*error_name)(std::size_t) = nullptr;
};

class ZstdBuffer : public std::streambuf {
 public:
  ZstdBuffer(std::unique_ptr<std::istream> packed, std::shared_ptr<GzipFailure> failure, std::uint64_t most,
             const char* library)
      : packed_(std::move(packed)),
        failure_(std::move(failure)),
        most_(most),
        zstd_(library),
        in_(kPiece),
        out_(kPiece) {
    if (zstd_.complete()) state_ = zstd_.create();
    if (state_ == nullptr)
      fail(fmt::format("is packed by zstd, and there is no {} here; unpack it with unzstd first", library));
  }
  ~ZstdBuffer() override {
    if (state_ != nullptr) zstd_.free(state_);
  }
  ZstdBuffer(const ZstdBuffer&) = delete;
  ZstdBuffer& operator=(const ZstdBuffer&) = delete;

 protected:
  int_type underflow() override {
    while (!ended_) {
      if (left_.at == left_.size && !refill() && !full_) break;
      OutBuffer out{out_.data(), out_.size(), 0};
      const std::size_t code = zstd_.unpack(state_, &out, &left_);
      full_ = out.at == out.size;
      within_ = code != 0;
      unpacked_ += out.at;
      if (zstd_.is_error(code) != 0)
        fail(fmt::format("byte {}: is broken zstd data: {}; copy the file again", read_ - (left_.size - left_.at),
                         zstd_.error_name(code)));
      else if (unpacked_ > most_)
        fail(fmt::format("unpacks to more than {} bytes; unpack it with unzstd first", most_));
      if (ended_ || out.at == 0) continue;
      setg(out_.data(), out_.data(), out_.data() + out.at);
      return traits_type::to_int_type(out_[0]);
    }
    setg(nullptr, nullptr, nullptr);
    return traits_type::eof();
  }

 private:
  static constexpr std::size_t kPiece = 128 << 10;

  void fail(std::string why) {
    ended_ = true;
    failure_->message = std::move(why);
  }

  /// Reads more packed bytes. False at their end, which is an error within a frame.
  bool refill() {
    packed_->read(in_.data(), static_cast<std::streamsize>(in_.size()));
    const auto got = static_cast<std::size_t>(packed_->gcount());
    left_ = {in_.data(), got, 0};
    read_ += got;
    if (got > 0 || full_) return got > 0;
    if (within_) fail(fmt::format("byte {}: the file ends within compressed data; copy it again", read_));
    ended_ = true;
    return false;
  }

  std::unique_ptr<std::istream> packed_;
  std::shared_ptr<GzipFailure> failure_;
  const std::uint64_t most_;
  const ZstdLibrary zstd_;
  void* state_ = nullptr;
  std::vector<char> in_, out_;
  InBuffer left_{nullptr, 0, 0};
  std::uint64_t read_ = 0, unpacked_ = 0;
  bool within_ = false;  ///< a frame has begun and not ended
  bool full_ = false;    ///< the last piece filled the space, so more may be ready
  bool ended_ = false;
};

class ZstdStream : public std::istream {
 public:
  explicit ZstdStream(std::unique_ptr<ZstdBuffer> buffer) : std::istream(buffer.get()), buffer_(std::move(buffer)) {}

 private:
  std::unique_ptr<ZstdBuffer> buffer_;
};

}  // namespace

bool looks_like_zstd(std::string_view head) { return head.starts_with("\x28\xb5\x2f\xfd"); }

std::unique_ptr<std::istream> unpack_zstd(std::unique_ptr<std::istream> packed, std::shared_ptr<GzipFailure> failure,
                                          std::uint64_t most, const char* library) {
  return std::make_unique<ZstdStream>(
      std::make_unique<ZstdBuffer>(std::move(packed), std::move(failure), most, library));
}

}  // namespace busbar
