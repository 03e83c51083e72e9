#include "busbar/formats/internal/zstd_stream.h"

#include <dlfcn.h>
#include <fmt/core.h>

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

class ZstdBuffer : public UnpackingBuffer {
 public:
  ZstdBuffer(std::unique_ptr<std::istream> packed, std::shared_ptr<UnpackFailure> failure, std::uint64_t most,
             const char* library)
      : UnpackingBuffer(std::move(packed), std::move(failure), most, kPiece, {"zstd", "unzstd"}), zstd_(library) {
    if (zstd_.complete()) state_ = zstd_.create();
    if (state_ == nullptr)
      fail(fmt::format("is packed by zstd, and there is no {} here; unpack it with unzstd first", library));
  }
  ~ZstdBuffer() override {
    if (state_ != nullptr) zstd_.free(state_);
  }

 protected:
  std::size_t unpack(std::vector<char>& out) override {
    if (left_.at == left_.size && !refill() && !full_) return 0;
    OutBuffer unpacked{out.data(), out.size(), 0};
    const std::size_t code = zstd_.unpack(state_, &unpacked, &left_);
    full_ = unpacked.at == unpacked.size;
    within_ = code != 0;
    if (zstd_.is_error(code) != 0) fail_broken(left_.size - left_.at, zstd_.error_name(code));
    return unpacked.at;
  }

 private:
  static constexpr std::size_t kPiece = 128 << 10;

  /// Reads more packed bytes. False at their end, which is an error within a frame.
  bool refill() {
    left_ = {packed_bytes().data(), read_packed(), 0};
    if (left_.size == 0 && !full_) end(within_);
    return left_.size > 0;
  }

  const ZstdLibrary zstd_;
  void* state_ = nullptr;
  InBuffer left_{nullptr, 0, 0};
  bool within_ = false;  ///< a frame has begun and not ended
  bool full_ = false;    ///< the last piece filled the space, so more may be ready
};

}  // namespace

bool looks_like_zstd(std::string_view head) { return head.starts_with("\x28\xb5\x2f\xfd"); }

std::unique_ptr<std::istream> unpack_zstd(std::unique_ptr<std::istream> packed, std::shared_ptr<UnpackFailure> failure,
                                          std::uint64_t most, const char* library) {
  return std::make_unique<UnpackingStream>(
      std::make_unique<ZstdBuffer>(std::move(packed), std::move(failure), most, library));
}

}  // namespace busbar
