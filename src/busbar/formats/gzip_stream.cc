#include "busbar/formats/gzip_stream.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <streambuf>
#include <vector>

#include "busbar/base/check.h"

namespace busbar {
namespace {

constexpr std::size_t kPiece = 64 << 10;
constexpr int kGzipOnly = 16 + MAX_WBITS;  // zlib.h, inflateInit2: window + 16 means only gzip

class GzipBuffer : public std::streambuf {
 public:
  GzipBuffer(std::unique_ptr<std::istream> packed, std::shared_ptr<GzipFailure> failure, std::uint64_t most)
      : packed_(std::move(packed)), failure_(std::move(failure)), most_(most), in_(kPiece), out_(kPiece) {
    if (inflateInit2(&zlib_, kGzipOnly) != Z_OK) fail("there is no memory to unpack it");
  }
  ~GzipBuffer() override { inflateEnd(&zlib_); }
  GzipBuffer(const GzipBuffer&) = delete;
  GzipBuffer& operator=(const GzipBuffer&) = delete;

 protected:
  int_type underflow() override {
    while (!ended_) {
      if (zlib_.avail_in == 0 && !refill()) break;
      if (between_ && pass_zero()) continue;
      if (between_) inflateReset(&zlib_);
      zlib_.next_out = reinterpret_cast<Bytef*>(out_.data());
      zlib_.avail_out = static_cast<uInt>(out_.size());
      const int code = inflate(&zlib_, Z_NO_FLUSH);
      between_ = code == Z_STREAM_END;
      const std::size_t got = out_.size() - zlib_.avail_out;
      unpacked_ += got;
      if (code != Z_OK && !between_)
        fail(fmt::format("byte {}: is broken gzip data: {}; copy the file again", read_ - zlib_.avail_in,
                         zlib_.msg != nullptr ? zlib_.msg : "needs a dictionary"));
      else if (unpacked_ > most_)
        fail(fmt::format("unpacks to more than {} bytes; unpack it with gunzip first", most_));
      if (ended_ || got == 0) continue;
      setg(out_.data(), out_.data(), out_.data() + got);
      return traits_type::to_int_type(out_[0]);
    }
    setg(nullptr, nullptr, nullptr);
    return traits_type::eof();
  }

 private:
  void fail(std::string why) {
    ended_ = true;
    failure_->message = std::move(why);
  }

  /// Reads more packed bytes. False at their end, which is an error inside a member.
  bool refill() {
    packed_->read(in_.data(), static_cast<std::streamsize>(in_.size()));
    const auto got = static_cast<std::size_t>(packed_->gcount());
    zlib_.next_in = reinterpret_cast<Bytef*>(in_.data());
    zlib_.avail_in = static_cast<uInt>(got);
    read_ += got;
    if (got > 0) return true;
    if (!between_) fail(fmt::format("byte {}: the file ends within compressed data; copy it again", read_));
    ended_ = true;
    return false;
  }

  /// Zeros may follow the last member as padding.
  bool pass_zero() {
    if (*zlib_.next_in != 0) return false;
    ++zlib_.next_in;
    --zlib_.avail_in;
    return true;
  }

  std::unique_ptr<std::istream> packed_;
  std::shared_ptr<GzipFailure> failure_;
  const std::uint64_t most_;
  std::vector<char> in_, out_;
  z_stream zlib_{};
  std::uint64_t read_ = 0, unpacked_ = 0;
  bool between_ = false;  ///< a member has ended, and no other has started
  bool ended_ = false;
};

class GzipStream : public std::istream {
 public:
  explicit GzipStream(std::unique_ptr<GzipBuffer> buffer) : std::istream(buffer.get()), buffer_(std::move(buffer)) {}

 private:
  std::unique_ptr<GzipBuffer> buffer_;
};

}  // namespace

bool looks_like_gzip(std::string_view head) { return head.starts_with("\x1f\x8b"); }

std::unique_ptr<std::istream> unpack_gzip(std::unique_ptr<std::istream> packed, std::shared_ptr<GzipFailure> failure,
                                          std::uint64_t most) {
  return std::make_unique<GzipStream>(std::make_unique<GzipBuffer>(std::move(packed), std::move(failure), most));
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

Status status_of(const GzipFailure& failure, const std::string& name) {
  if (failure.message.empty()) return {};
  return invalid(failure.message, {name, 0, 0, ""});
}

}  // namespace busbar
