// The part of the protocol-buffer wire format that a writer needs.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace busbar::trace {

/// Appends fields to a byte string. Wire types as in "Protocol Buffers, Encoding": 0 varint, 1 eight bytes little
/// endian, 2 length and bytes. A nested message has a WireWriter of its own and is then added as bytes.
class WireWriter {
 public:
  void varint(std::uint32_t field, std::uint64_t value) {
    key(field, 0);
    raw(value);
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    key(field, 1);
    for (int i = 0; i < 8; ++i) out_.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
  }
  void real(std::uint32_t field, double value) { fixed64(field, std::bit_cast<std::uint64_t>(value)); }
  void bytes(std::uint32_t field, std::string_view value) {
    key(field, 2);
    raw(value.size());
    out_.append(value);
  }
  void message(std::uint32_t field, const WireWriter& inner) { bytes(field, inner.out_); }
  const std::string& text() const { return out_; }
  std::size_t size() const { return out_.size(); }
  void clear() { out_.clear(); }  ///< keeps the memory

 private:
  void key(std::uint32_t field, std::uint32_t type) { raw(field << 3 | type); }
  void raw(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>((value & 0x7F) | 0x80));
    out_.push_back(static_cast<char>(value));
  }
  std::string out_;
};

}  // namespace busbar::trace
