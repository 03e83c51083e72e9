#include <algorithm>
#include <array>
#include <string_view>

#include "fuzz.h"

namespace busbar::fuzz {
namespace {

using std::string_view_literals::operator""sv;

// Pieces that readers of YAML, numbers and names are likely to stumble over.
constexpr auto kPieces = std::to_array<std::string_view>(
    {"&a ",  "*a",    "<<: *a",  "[[[[[[[[",  "{{{{{{{{", "- ",     "? ",      ": ",         "\n  ",     "\t",
     "#",    "---\n", "...\n",   "!!binary ", "|\n",      ">-\n",   "'",       "\"",         "\"\\x\"",  "~",
     "null", "true",  "0",       "-1",        "1e309",    "1e-400", "nan",     "-inf",       "0x10",     "4294967296",
     "GB/s", "Gb/s",  "GiB/s",   "us",        "ps",       "400",    "400Gb/s", "-400Gb/s",   "0GB/s",    "9223372036854775807",
     "\xff", "\xc0\x80", "\xed\xa0\x80", "\xef\xbb\xbf", "\xf4\x90\x80\x80", "\0"sv, "\r\n", "\xe2\x80\xa8",
     "18446744073709551616", "999999999999999999999999GB"});

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

void change(std::string& text, const std::vector<std::string>& seeds, RandomStream& random) {
  switch (random.below(6)) {
    case 0:
      if (!text.empty()) text[random.below(text.size())] ^= static_cast<char>(1u << random.below(8));
      return;
    case 1:
      if (!text.empty()) text[random.below(text.size())] = static_cast<char>(random.below(256));
      return;
    case 2: cut(text, random); return;
    case 3: repeat(text, random); return;
    case 4: splice(text, seeds[random.below(seeds.size())], random); return;
    default: text.insert(place(text, random), kPieces[random.below(kPieces.size())]); return;
  }
}

}  // namespace

std::string mutate(const std::vector<std::string>& seeds, RandomStream& random) {
  std::string text = seeds[random.below(seeds.size())];
  const std::uint64_t changes = random.below(8) + 1;
  for (std::uint64_t i = 0; i < changes; ++i) change(text, seeds, random);
  text.resize(std::min(text.size(), kLongest));
  return text;
}

}  // namespace busbar::fuzz
