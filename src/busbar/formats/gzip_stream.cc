#include "busbar/formats/gzip_stream.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "busbar/base/check.h"

namespace busbar {
namespace {

constexpr std::size_t kPiece = 64 << 10;
constexpr int kGzipOnly = 16 + MAX_WBITS;  // zlib.h, inflateInit2: window + 16 means only gzip

class GzipBuffer : public UnpackingBuffer {
 public:
  GzipBuffer(std::unique_ptr<std::istream> packed, std::shared_ptr<UnpackFailure> failure, std::uint64_t most)
      : UnpackingBuffer(std::move(packed), std::move(failure), most, kPiece, {"gzip", "gunzip"}) {
    if (inflateInit2(&zlib_, kGzipOnly) != Z_OK) fail("there is no memory to unpack it");
  }
  ~GzipBuffer() override { inflateEnd(&zlib_); }

 protected:
  std::size_t unpack(std::vector<char>& out) override {
    if (zlib_.avail_in == 0 && !refill()) return 0;
    if (between_ && pass_zero()) return 0;
    if (between_) inflateReset(&zlib_);
    zlib_.next_out = reinterpret_cast<Bytef*>(out.data());
    zlib_.avail_out = static_cast<uInt>(out.size());
    const int code = inflate(&zlib_, Z_NO_FLUSH);
    between_ = code == Z_STREAM_END;
    if (code != Z_OK && !between_) fail_broken(zlib_.avail_in, zlib_.msg != nullptr ? zlib_.msg : "needs a dictionary");
    return out.size() - zlib_.avail_out;
  }

 private:
  /// Reads more packed bytes. False at their end, which is an error inside a member.
  bool refill() {
    zlib_.avail_in = static_cast<uInt>(read_packed());
    zlib_.next_in = reinterpret_cast<Bytef*>(packed_bytes().data());
    if (zlib_.avail_in == 0) end(!between_);
    return zlib_.avail_in > 0;
  }

  /// Zeros may follow the last member as padding.
  bool pass_zero() {
    if (*zlib_.next_in != 0) return false;
    ++zlib_.next_in;
    --zlib_.avail_in;
    return true;
  }

  z_stream zlib_{};
  bool between_ = false;  ///< a member has ended, and no other has started
};

}  // namespace

bool looks_like_gzip(std::string_view head) { return head.starts_with("\x1f\x8b"); }

std::unique_ptr<std::istream> unpack_gzip(std::unique_ptr<std::istream> packed, std::shared_ptr<UnpackFailure> failure,
                                          std::uint64_t most) {
  return std::make_unique<UnpackingStream>(std::make_unique<GzipBuffer>(std::move(packed), std::move(failure), most));
}

std::string pack_gzip(std::string_view text) {
  constexpr int kMemory = 8;  // zlib.h: the default
  z_stream z{};
  std::string out;
  BUSBAR_CHECK(deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipOnly, kMemory, Z_DEFAULT_STRATEGY) == Z_OK);
  std::vector<char> piece(kPiece);
  int code = Z_OK;
  for (std::size_t at = 0; code == Z_OK;) {
    if (z.avail_in == 0) {
      const std::size_t n = std::min(text.size() - at, kPiece);
      z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data() + at));  // zlib does not write to it
      z.avail_in = static_cast<uInt>(n);
      at += n;
    }
    z.next_out = reinterpret_cast<Bytef*>(piece.data());
    z.avail_out = static_cast<uInt>(piece.size());
    code = deflate(&z, at == text.size() ? Z_FINISH : Z_NO_FLUSH);
    out.append(piece.data(), piece.size() - z.avail_out);
  }
  deflateEnd(&z);
  BUSBAR_CHECK(code == Z_STREAM_END) << code;
  return out;
}

}  // namespace busbar
