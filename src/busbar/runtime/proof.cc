#include "busbar/runtime/internal/proof.h"

#include <sys/random.h>

#include <bit>
#include <cctype>
#include <cstring>

namespace busbar::runtime {
namespace {

std::uint64_t little_endian(const void* bytes) {
  std::uint64_t x = 0;
  for (int i = 7; i >= 0; --i) x = x << 8 | static_cast<const std::uint8_t*>(bytes)[i];
  return x;
}

struct SipState {
  std::uint64_t v0, v1, v2, v3;
  void rounds(int n) {
    for (int i = 0; i < n; ++i) {
      v0 += v1, v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0, v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1, v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2, v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  }
  void take(std::uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
};

}  // namespace

std::uint64_t keyed_hash(const Key& key, std::span<const std::byte> text) {
  const std::uint64_t k0 = little_endian(key.data()), k1 = little_endian(key.data() + 8);
  SipState s{k0 ^ 0x736f'6d65'7073'6575, k1 ^ 0x646f'7261'6e64'6f6d, k0 ^ 0x6c79'6765'6e65'7261,
             k1 ^ 0x7465'6462'7974'6573};
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) s.take(little_endian(text.data() + at));
  std::uint8_t last[8] = {};
  std::memcpy(last, text.data() + at, text.size() - at);
  last[7] = static_cast<std::uint8_t>(text.size());
  s.take(little_endian(last));
  s.v2 ^= 0xff;
  s.rounds(4);
  return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

Result<Key> parse_key(std::string_view digits) {
  Key out;
  const auto value = [](char c) { return c <= '9' ? c - '0' : std::tolower(static_cast<unsigned char>(c)) - 'a' + 10; };
  bool ok = digits.size() == 2 * out.size();
  for (const char c : digits) ok = ok && std::isxdigit(static_cast<unsigned char>(c)) != 0;
  if (!ok)
    return Error{ErrorCode::kInvalid,
                 "the secret of the run is not 32 hexadecimal digits; make one with 'openssl rand -hex 16'",
                 {}};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::uint8_t>(value(digits[2 * i]) * 16 + value(digits[2 * i + 1]));
  return out;
}

Status fill_randomly(std::span<std::byte> bytes) {
  if (getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size())) return {};
  return Error{ErrorCode::kIo, "the system gives no random numbers", {}};
}

}  // namespace busbar::runtime
