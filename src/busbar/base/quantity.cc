#include "busbar/base/quantity.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

#include "busbar/base/text.h"

namespace busbar {
namespace {

struct Unit {
  std::string_view name;
  double scale;
};

struct Split {
  double number = 0;
  std::string_view digits;  ///< the number in the text
  std::string_view unit;
};

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

/// Splits "3.35 TB/s" into 3.35 and "TB/s". `example` is a unit to show in the remedy.
Result<Split> split(std::string_view text, std::string_view what, std::string_view example) {
  const std::string_view s = trim(text);
  const std::size_t first = !s.empty() && (s[0] == '-' || s[0] == '+') ? 1 : 0;
  const bool starts = first < s.size() && ((s[first] >= '0' && s[first] <= '9') || s[first] == '.');
  double number = 0;
  const char* begin = s.data() + (first == 1 && s[0] == '+' ? 1 : 0);
  const auto [end, code] = std::from_chars(begin, s.data() + s.size(), number);
  if (!starts || code == std::errc::invalid_argument) {
    return invalid(fmt::format("'{}' is not a {}; write a number and a unit, for example 1{}", text, what, example));
  }
  if (code != std::errc() || !std::isfinite(number)) {
    return invalid(fmt::format("'{}' is out of range for a {}", text, what));
  }
  Split out;
  out.number = number;
  out.digits = s.substr(0, static_cast<std::size_t>(end - s.data()));
  out.unit = trim(s.substr(static_cast<std::size_t>(end - s.data())));
  return out;
}

/// The value in base units. `limit` is the largest value that fits.
Result<double> quantity(std::string_view text, std::string_view what, std::span<const Unit> units,
                        std::string_view example, double limit) {
  BUSBAR_ASSIGN(const Split s, split(text, what, example));
  if (s.unit.empty()) return invalid(fmt::format("'{}' has no unit; write {}{}", text, s.digits, example));
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == s.unit; });
  if (unit == units.end()) {
    std::vector<std::string> names;
    std::string list;
    for (const Unit& u : units) {
      names.emplace_back(u.name);
      if (static_cast<unsigned char>(u.name.front()) < 0x80) append_word(list, u.name);
    }
    const std::string near = nearest(s.unit, names);
    if (near.empty()) return invalid(fmt::format("'{}': unknown unit '{}' of a {}; use {}", text, s.unit, what, list));
    return invalid(fmt::format("'{}': unknown unit '{}' of a {}; write {}{}?", text, s.unit, what, s.digits, near));
  }
  if (std::signbit(s.number) && s.number != 0) {
    return invalid(fmt::format("'{}' is negative; a {} must not be", text, what));
  }
  const double value = s.number * unit->scale;
  if (!(value < limit)) return invalid(fmt::format("'{}' is out of range for a {}", text, what));
  return value;
}

constexpr std::array kRates{
    Unit{"b/s", 0.125},  Unit{"kb/s", 125.0}, Unit{"Kb/s", 125.0}, Unit{"Mb/s", 125e3}, Unit{"Gb/s", 125e6},
    Unit{"Tb/s", 125e9}, Unit{"B/s", 1.0},    Unit{"kB/s", 1e3},   Unit{"KB/s", 1e3},   Unit{"MB/s", 1e6},
    Unit{"GB/s", 1e9},   Unit{"TB/s", 1e12},  Unit{"PB/s", 1e15},
};
constexpr std::array kSizes{
    Unit{"B", 1.0},      Unit{"kB", 1e3},     Unit{"KB", 1e3},     Unit{"MB", 1e6},
    Unit{"GB", 1e9},     Unit{"TB", 1e12},    Unit{"PB", 1e15},    Unit{"KiB", 0x1p10},
    Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}, Unit{"PiB", 0x1p50},
};
constexpr std::array kTimes{
    Unit{"s", 1e12}, Unit{"ms", 1e9},      Unit{"us", 1e6},      Unit{"ns", 1e3},
    Unit{"ps", 1.0}, Unit{"\u00b5s", 1e6}, Unit{"\u03bcs", 1e6},
};
constexpr double kMax63 = 0x1p63;

/// Value and unit with three significant digits. Units by steps of 1000, largest first: the first with value >= 1.
std::string scaled(double value, std::span<const Unit> units) {
  const double size = std::fabs(value);
  for (const Unit& u : units) {
    if (size >= u.scale * 0.9995) return fmt::format("{} {}", format_number(value / u.scale), u.name);
  }
  return fmt::format("{} {}", format_number(value / units.back().scale), units.back().name);
}

constexpr int kNoLikeness = 3;

/// How similar `known` is to `wanted`. First: 0 if it contains `wanted`, 1 if it has its characters in order among few
/// others, 2 if only few edits differ; second: the size of the difference. For short words only edits count.
std::pair<int, std::size_t> mismatch(const std::string& wanted, const std::string& known) {
  const std::size_t apart = edit_distance(wanted, known);
  if (apart == 0) return {0, 0};
  if (wanted.size() >= 4 && known.find(wanted) != std::string::npos) return {0, apart};
  std::size_t taken = 0;
  for (const char c : known) taken += taken < wanted.size() && c == wanted[taken];
  if (wanted.size() >= 6 && taken == wanted.size() && apart <= 3) return {1, apart};
  return {apart <= std::max<std::size_t>(1, wanted.size() / 3) ? 2 : kNoLikeness, apart};
}

}  // namespace

Result<BytesPerSecond> parse_rate(std::string_view text) {
  BUSBAR_ASSIGN(const double value, quantity(text, "rate", kRates, "Gb/s", kMax63));
  const auto rate = static_cast<std::uint64_t>(std::llround(value));
  if (rate == 0) return invalid(fmt::format("'{}' is zero; a rate must be at least 1 B/s", text));
  return BytesPerSecond{rate};
}

Result<Bytes> parse_size(std::string_view text) {
  BUSBAR_ASSIGN(const double value, quantity(text, "size", kSizes, "GB", kMax63));
  return Bytes{static_cast<std::uint64_t>(std::llround(value))};
}

Result<Bytes> parse_cli_size(std::string_view text) {
  BUSBAR_ASSIGN(const Split s, split(text, "size", "G"));
  std::string unit = lower(s.unit);
  if (unit.size() > 1 && unit.back() == 'b') unit.pop_back();
  if (unit.size() > 1 && unit.back() == 'i') unit.pop_back();
  constexpr std::string_view kPrefixes = "bkmgtp";
  const auto power = unit.empty() ? 0 : kPrefixes.find(unit);
  if (power == std::string_view::npos || unit.size() > 1) {
    return invalid(fmt::format("'{}': unknown unit '{}' of a size; use K, M, G or T", text, s.unit));
  }
  if (std::signbit(s.number) && s.number != 0) {
    return invalid(fmt::format("'{}' is negative; a size must not be", text));
  }
  const double value = std::ldexp(s.number, static_cast<int>(10 * power));
  if (!(value < kMax63)) return invalid(fmt::format("'{}' is out of range for a size", text));
  return Bytes{static_cast<std::uint64_t>(std::llround(value))};
}

Result<Duration> parse_duration(std::string_view text) {
  BUSBAR_ASSIGN(const double ps, quantity(text, "time", kTimes, "us", kMax63));
  return Duration::ps(std::llround(ps));
}

std::string format_rate(double bytes_per_s) {
  static constexpr std::array kUnits{Unit{"TB/s", 1e12}, Unit{"GB/s", 1e9}, Unit{"MB/s", 1e6}, Unit{"kB/s", 1e3},
                                     Unit{"B/s", 1.0}};
  return scaled(bytes_per_s, kUnits);
}

std::string format_size(double bytes) {
  static constexpr std::array kUnits{Unit{"PB", 1e15}, Unit{"TB", 1e12}, Unit{"GB", 1e9}, Unit{"MB", 1e6},
                                     Unit{"kB", 1e3}};
  if (std::fabs(bytes) < 999.5) return fmt::format("{:.0f} B", bytes);
  return scaled(bytes, kUnits);
}

std::string format_binary_size(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  std::size_t power = 0;
  while (power + 1 < kUnits.size() && bytes % 1024 == 0) {
    bytes /= 1024;
    ++power;
  }
  if (power > 0 && bytes < 10'000) return fmt::format("{} {}", bytes, kUnits[power]);
  return format_size(std::ldexp(static_cast<double>(bytes), static_cast<int>(10 * power)));
}

std::string format_duration(double seconds) {
  static constexpr std::array kUnits{Unit{"s", 1.0}, Unit{"ms", 1e-3}, Unit{"us", 1e-6}, Unit{"ns", 1e-9},
                                     Unit{"ps", 1e-12}};
  if (seconds == 0) return "0 s";
  return scaled(seconds, kUnits);
}

std::string format_number(double value, int digits) {
  if (value == 0) return "0";
  if (!std::isfinite(value)) return fmt::format("{}", value);
  constexpr int kMostDecimals = 15;
  int decimals = digits - 1;
  double power = 10;
  const double size = std::fabs(value);
  for (; size >= power && decimals > 0; power *= 10) --decimals;
  for (power = 1; size < power && decimals < kMostDecimals; power /= 10) ++decimals;
  std::string out = fmt::format("{:.{}f}", value, decimals);
  // Rounding may have carried into a new digit: 9.999 became 10.00.
  const auto significant = std::count_if(
      out.begin() + static_cast<std::ptrdiff_t>(
                        out.find_first_of("123456789") == std::string::npos ? 0 : out.find_first_of("123456789")),
      out.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (decimals > 0 && significant > digits) out = fmt::format("{:.{}f}", value, decimals - 1);
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 64;  // bounds the cost of hostile input
  if (word.empty() || word.size() > kLongest) return {};
  const std::string wanted = lower(word);
  std::tuple<int, std::size_t, std::size_t> best{kNoLikeness, 0, 0};
  const std::string* found = nullptr;
  for (const std::string& k : known) {
    if (k.size() > kLongest) continue;
    const auto d = mismatch(wanted, lower(k));
    const std::tuple mine{d.first, d.second, edit_distance(word, k)};
    if (mine >= best) continue;
    best = mine;
    found = &k;
  }
  return found ? *found : std::string();
}

std::uint64_t hash64(std::string_view text, std::uint64_t state) {
  constexpr std::uint64_t kPrime = 0x100000001b3u;  // FNV-1a, 64 bits: Fowler, Noll, Vo
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * kPrime;
  return state;
}

}  // namespace busbar
