#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

#include "busbar/base/quantity.h"
#include "busbar/doctor/internal/logged_job.h"

namespace busbar::doctor {
namespace {

/// "NVLS_TREE" and "NVLSTree" are one name.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '_') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

/// By name, or by the number that releases before 2.24 print.
template <typename T>
std::optional<T> named(std::string_view text, std::size_t values) {
  std::size_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size())
    return number < values ? std::optional(static_cast<T>(number)) : std::nullopt;
  for (std::size_t i = 0; i < values; ++i)
    if (plain(text) == plain(name_of(static_cast<T>(i)))) return static_cast<T>(i);
  return std::nullopt;
}

struct Pick {
  nccl::NcclAlgorithm algorithm{};
  nccl::NcclProtocol protocol{};
  auto operator<=>(const Pick&) const = default;
};
std::string words_of(const Pick& p) {
  return fmt::format("{} with {}", nccl::name_of(p.algorithm), nccl::name_of(p.protocol));
}

/// The sizes of one collective for which the log and the model pick differently in the same way.
struct Differing {
  std::uint64_t least = UINT64_MAX, most = 0;
  std::size_t sizes = 0;
  int line = 0;  ///< of the largest size
};
using ByPicks = std::map<std::tuple<collectives::Collective, Pick, Pick>, Differing>;

/// The time with the logged pick and the expected one, of the largest size.
void price_pick(const LoggedJob& job, collectives::Collective op, const Pick& logged, const Differing& sizes,
                LogDifference& d, LogComparison& out) {
  const Result<double> as_expected = time_of_job(job, op, sizes.most);
  const Result<double> as_logged = time_of_job(job, op, sizes.most,
                                               {fmt::format("NCCL_ALGO={}", nccl::name_of(logged.algorithm)),
                                                fmt::format("NCCL_PROTO={}", nccl::name_of(logged.protocol))});
  if (!as_expected.ok() || !as_logged.ok()) {
    d.cost_of = "not predicted: " + (as_expected.ok() ? as_logged.error().message : as_expected.error().message);
    return;
  }
  d.cost_percent = 100 * (*as_logged / *as_expected - 1);
  d.cost_of = fmt::format("{} of {}, as logged {:.4g} us, as expected {:.4g} us", collectives::name_of(op),
                          format_binary_size(sizes.most), *as_logged, *as_expected);
  out.picks.push_back({collectives::name_of(op), sizes.most, sizes.line, *d.cost_percent});
}

}  // namespace

void compare_picks(const LoggedJob& job, LogComparison& out) {
  ByPicks differing;
  std::size_t same = 0, all = 0;
  for (const formats::LoggedChoice& c : job.log->choices) {
    const auto algorithm = named<nccl::NcclAlgorithm>(c.algorithm, nccl::kNcclAlgorithms);
    const auto protocol = named<nccl::NcclProtocol>(c.protocol, nccl::kNcclProtocols);
    const auto op = c.collective.empty() ? Result<collectives::Collective>(job.options.op)
                                         : collectives::parse_collective(c.collective);
    if (!algorithm || !protocol || !op.ok() || !nccl::is_nccl_tuned(*op) || c.bytes <= 0) continue;
    const auto bytes = static_cast<std::uint64_t>(c.bytes);
    const auto expected = nccl::choose_nccl(job.comm, job.tuning, *op, Bytes{bytes});
    if (!expected.ok()) continue;
    ++all;
    const Pick logged{*algorithm, *protocol}, ours{expected->algorithm, expected->protocol};
    same += logged == ours;
    if (logged == ours) continue;
    Differing& d = differing[{*op, logged, ours}];
    d.least = std::min(d.least, bytes);
    if (bytes >= d.most) d.line = c.line;
    d.most = std::max(d.most, bytes);
    ++d.sizes;
  }
  out.picks_compared = all;
  if (same > 0) out.agrees.push_back(fmt::format("{} of {} picks of algorithm and protocol", same, all));
  for (const auto& [key, sizes] : differing) {
    const auto& [op, logged, ours] = key;
    const std::string range = sizes.sizes == 1
                                  ? format_binary_size(sizes.most)
                                  : fmt::format("{} sizes from {} to {}", sizes.sizes, format_binary_size(sizes.least),
                                                format_binary_size(sizes.most));
    LogDifference d{fmt::format("{} of {}", collectives::name_of(op), range),
                    words_of(logged),
                    words_of(ours),
                    "a tuner plugin, another bandwidth than described in NCCL's tables, or another patch release",
                    {},
                    {}};
    price_pick(job, op, logged, sizes, d, out);
    out.differences.push_back(std::move(d));
  }
}

std::string describe_picks(const LogComparison& c) {
  if (c.picks_compared == 0) return {};
  std::string out = fmt::format("{} picks of algorithm and protocol compared\n", c.picks_compared);
  for (const LoggedPick& p : c.picks)
    out += fmt::format("pick of {} at {} (line {}) takes {:.0f} % more time\n", p.collective,
                       format_binary_size(p.bytes), p.line, p.slower_percent);
  return out;
}

}  // namespace busbar::doctor
