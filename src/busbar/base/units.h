// Strong units. Conversions are always explicit.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace busbar {

/// Factors between units of raw doubles.
inline constexpr double kGiga = 1e9, kPsPerSecond = 1e12;

/// A span of simulated time: a signed count of picoseconds (+-106 days).
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration ps(std::int64_t n) { return Duration(n); }
  static constexpr Duration ns(std::int64_t n) { return Duration(n * 1'000); }
  static constexpr Duration us(std::int64_t n) { return Duration(n * 1'000'000); }
  static constexpr Duration max() { return Duration(std::numeric_limits<std::int64_t>::max()); }
  constexpr std::int64_t in_ps() const { return ps_; }
  constexpr double in_ns() const { return static_cast<double>(ps_) / 1e3; }
  constexpr double in_us() const { return static_cast<double>(ps_) * 1e-6; }
  constexpr double in_s() const { return static_cast<double>(ps_) * 1e-12; }
  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration& operator+=(Duration o) {
    ps_ += o.ps_;
    return *this;
  }
  constexpr Duration& operator-=(Duration o) {
    ps_ -= o.ps_;
    return *this;
  }
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.ps_ + b.ps_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ps_ - b.ps_); }
  friend constexpr Duration operator*(Duration a, std::int64_t n) { return Duration(a.ps_ * n); }

 private:
  constexpr explicit Duration(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

/// A point of simulated time: picoseconds since the start of the run.
class SimTime {
 public:
  constexpr SimTime() = default;
  static constexpr SimTime at(Duration since_start) { return SimTime(since_start); }
  static constexpr SimTime max() { return SimTime(Duration::max()); }
  constexpr Duration since_start() const { return t_; }
  constexpr auto operator<=>(const SimTime&) const = default;
  friend constexpr SimTime operator+(SimTime t, Duration d) { return SimTime(t.t_ + d); }
  friend constexpr Duration operator-(SimTime a, SimTime b) { return a.t_ - b.t_; }

 private:
  constexpr explicit SimTime(Duration t) : t_(t) {}
  Duration t_;
};

enum class Bytes : std::uint64_t {};           ///< A size or an offset; never a count of elements.
enum class BytesPerSecond : std::uint64_t {};  ///< A link rate per direction; bits never get this far.
enum class Flops : std::uint64_t {};           ///< Floating-point operations; a multiply-add counts two.

constexpr std::uint64_t count(Bytes b) { return static_cast<std::uint64_t>(b); }
constexpr std::uint64_t per_second(BytesPerSecond r) { return static_cast<std::uint64_t>(r); }
constexpr std::uint64_t count(Flops f) { return static_cast<std::uint64_t>(f); }

/// Time for `size` to leave a link of rate `rate`, rounded up to the next picosecond, so that n packets are
/// never faster than one message of the same size. Precondition: rate > 0. Saturates.
constexpr Duration transfer_time(Bytes size, BytesPerSecond rate) {
  const auto num = static_cast<unsigned __int128>(count(size)) * 1'000'000'000'000u;
  const auto den = static_cast<unsigned __int128>(per_second(rate));
  const auto ps = (num + den - 1) / den;
  const auto max = static_cast<unsigned __int128>(INT64_MAX);
  return Duration::ps(static_cast<std::int64_t>(ps < max ? ps : max));
}
static_assert(transfer_time(Bytes{1 << 20}, BytesPerSecond{900'000'000'000}) == Duration::ps(1'165'085));

/// `ps` picoseconds in a double (from the fluid solver), rounded up; saturates at Duration::max().
constexpr Duration duration_from_ps(double ps) {
  if (!(ps < 9.2e18)) return Duration::max();
  const auto down = static_cast<std::int64_t>(ps);
  return Duration::ps(static_cast<double>(down) < ps ? down + 1 : down);
}

}  // namespace busbar
