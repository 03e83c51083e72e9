#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "fuzz.h"

namespace busbar::fuzz {
namespace {

using std::string_view_literals::operator""sv;

// Pieces that readers of YAML, numbers and names are likely to stumble over.
// clang-format off
constexpr auto kPieces = std::to_array<std::string_view>({
    "&a ", "*a", "<<: *a", "[[[[[[[[", "{{{{{{{{", "- ", "? ", ": ", "\n  ", "\t", "#", "---\n", "...\n", "!!binary ",
    "|\n", ">-\n", "'", "\"", "\"\\x\"", "~", "null", "true", "0", "-1", "1e309", "1e-400", "nan", "-inf", "0x10",
    "4294967296", "GB/s", "Gb/s", "GiB/s", "us", "ps", "400", "400Gb/s", "-400Gb/s", "0GB/s", "9223372036854775807",
    "\xff", "\xc0\x80", "\xed\xa0\x80", "\xef\xbb\xbf", "\xf4\x90\x80\x80", "\0"sv, "\r\n", "\xe2\x80\xa8",
    "18446744073709551616", "999999999999999999999999GB"});
// clang-format on

std::size_t place(const std::string& text, RandomStream& random) { return random.below(text.size() + 1); }

void cut(std::string& text, RandomStream& random) {
  const std::size_t at = place(text, random);
  text.erase(at, random.below(random.below(4) == 0 ? 64 : 4) + 1);
}

void repeat(std::string& text, RandomStream& random) {
  const std::size_t at = place(text, random);
  const std::string piece = text.substr(at, random.below(32) + 1);
  const std::size_t times = random.below(16) == 0 ? 200 : random.below(3) + 1;
  for (std::size_t i = 0; i < times && text.size() < kLongest; ++i) text.insert(at, piece);
}

void splice(std::string& text, const std::string& other, RandomStream& random) {
  const std::size_t from = place(other, random);
  text.insert(place(text, random), other, from, random.below(128) + 1);
}

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '/'; }

/// Begin and length of the word at or after a random place; length 0 if there is none.
std::pair<std::size_t, std::size_t> word(const std::string& text, RandomStream& random) {
  std::size_t begin = place(text, random);
  while (begin > 0 && in_word(text[begin - 1])) --begin;
  while (begin < text.size() && !in_word(text[begin])) ++begin;
  std::size_t end = begin;
  while (end < text.size() && in_word(text[end])) ++end;
  return {begin, end - begin};
}

/// Replaces a word by another one. The result is usually well formed and reaches the code after the parser.
void swap_word(std::string& text, const std::string& other, RandomStream& random) {
  const auto [at, size] = word(text, random);
  if (random.below(3) == 0) {
    text.replace(at, size, kPieces[random.below(kPieces.size())]);
    return;
  }
  const auto [from, length] = word(other, random);
  text.replace(at, size, other, from, length);
}

void change(std::string& text, const std::vector<std::string>& seeds, RandomStream& random) {
  switch (random.below(12)) {
    case 0:
      if (!text.empty()) text[random.below(text.size())] ^= static_cast<char>(1u << random.below(8));
      return;
    case 1:
      if (!text.empty()) text[random.below(text.size())] = static_cast<char>(random.below(256));
      return;
    case 2:
      cut(text, random);
      return;
    case 3:
      repeat(text, random);
      return;
    case 4:
      splice(text, seeds[random.below(seeds.size())], random);
      return;
    case 5:
      text.insert(place(text, random), kPieces[random.below(kPieces.size())]);
      return;
    default:
      swap_word(text, seeds[random.below(seeds.size())], random);
      return;
  }
}

}  // namespace

std::string mutate(const std::vector<std::string>& seeds, RandomStream& random) {
  std::string text = seeds[random.below(seeds.size())];
  const std::uint64_t changes = random.below(2) == 0 ? 1 : random.below(8) + 1;
  for (std::uint64_t i = 0; i < changes; ++i) change(text, seeds, random);
  text.resize(std::min(text.size(), kLongest));
  return text;
}

}  // namespace busbar::fuzz
