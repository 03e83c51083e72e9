#include "busbar/base/internal/utf16.h"

#include <array>
#include <cstdint>
#include <streambuf>
#include <string>

namespace busbar {
namespace {

constexpr std::uint32_t kReplacement = 0xfffd;

void append_utf8(std::string& out, std::uint32_t c) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | c >> 18);
    tail(12), tail(6), tail(0);
  }
}

class Utf16Buffer : public std::streambuf {
 public:
  explicit Utf16Buffer(std::unique_ptr<std::istream> text) : text_(std::move(text)) {
    std::array<char, 2> mark{};
    text_->read(mark.data(), mark.size());
    big_ = mark[0] == '\xfe' || mark[0] == '\0';
    if (mark[0] == '\0' || mark[1] == '\0') take(static_cast<unsigned char>(mark[big_ ? 1 : 0]));  // no mark
  }

 protected:
  int_type underflow() override {
    constexpr std::size_t kPiece = 64 << 10;
    if (gptr() != nullptr) piece_.clear();  // else it holds the first letter of a text without a mark
    for (std::uint32_t unit = 0; piece_.size() < kPiece && next(unit);) take(unit);
    if (piece_.empty() && high_ != 0) finish_pair();
    setg(piece_.data(), piece_.data(), piece_.data() + piece_.size());
    return piece_.empty() ? traits_type::eof() : traits_type::to_int_type(piece_[0]);
  }

 private:
  bool next(std::uint32_t& unit) {
    std::streambuf& in = *text_->rdbuf();
    const int_type first = in.sbumpc();
    if (first == traits_type::eof()) return false;
    const int_type second = in.sbumpc();
    if (second == traits_type::eof())
      unit = kReplacement;
    else
      unit = static_cast<std::uint32_t>(big_ ? first << 8 | second : second << 8 | first);
    return true;
  }

  void take(std::uint32_t unit) {
    const bool low = unit >= 0xdc00 && unit < 0xe000;
    if (high_ != 0 && low) {
      append_utf8(piece_, 0x10000 + ((high_ - 0xd800) << 10) + (unit - 0xdc00));
      high_ = 0;
      return;
    }
    if (high_ != 0) finish_pair();
    if (unit >= 0xd800 && unit < 0xdc00)
      high_ = unit;
    else
      append_utf8(piece_, low ? kReplacement : unit);
  }

  void finish_pair() {
    append_utf8(piece_, kReplacement);
    high_ = 0;
  }

  std::unique_ptr<std::istream> text_;
  bool big_ = false;
  std::uint32_t high_ = 0;  ///< first half of a pair; 0: none
  std::string piece_;
};

class Utf16Stream : public std::istream {
 public:
  explicit Utf16Stream(std::unique_ptr<std::istream> text) : std::istream(nullptr), buffer_(std::move(text)) {
    rdbuf(&buffer_);
  }

 private:
  Utf16Buffer buffer_;
};

/// A letter, sign or blank of ASCII.
bool is_text(char c) { return (c >= ' ' && c < '\x7f') || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

bool looks_like_utf16(std::string_view head) {
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) return true;
  constexpr std::size_t kEnough = 6;  // bytes: three letters of ASCII, as logs begin
  if (head.size() < kEnough) return false;
  const std::size_t zeros = head[0] == '\0' ? 0 : 1;
  for (std::size_t i = 0; i < kEnough; i += 2)
    if (head[i + zeros] != '\0' || !is_text(head[i + 1 - zeros])) return false;
  return true;
}

std::unique_ptr<std::istream> utf8_of_utf16(std::unique_ptr<std::istream> text) {
  return std::make_unique<Utf16Stream>(std::move(text));
}

}  // namespace busbar
