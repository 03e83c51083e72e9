#include "busbar/questions/sweep.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

#include "busbar/base/quantity.h"
#include "busbar/base/random.h"

namespace busbar::questions {
Result<std::vector<Bytes>> sweep_sizes(const std::string& first_text, const std::string& last_text, double factor) {
  const auto parse = [](const std::string& text, const char* flag) -> Result<Bytes> {
    Result<Bytes> r = parse_cli_size(text);
    if (!r.ok()) r.error().where.path = flag;
    return r;
  };
  BUSBAR_ASSIGN(const Bytes first, parse(first_text, "-b"));
  const bool single = last_text.empty() && count(first) > (std::uint64_t{16} << 30);
  BUSBAR_ASSIGN(const Bytes last, parse(last_text.empty() ? (single ? first_text : "16G") : last_text, "-e"));
  if (count(first) == 0) return invalid("sizes start at 1 byte", {"", 0, 0, "-b"});
  if (count(last) < count(first))
    return invalid(fmt::format("{} is below -b {}", last_text, first_text), {"", 0, 0, "-e"});
  if (!(factor > 1) || factor > 1e6) return invalid("the step factor must be above 1", {"", 0, 0, "-f"});
  constexpr std::size_t kMostSizes = 4096;
  constexpr double kMostSteps = 1e6;  // small sizes need many steps between two sizes
  const auto low = static_cast<double>(count(first)), high = static_cast<double>(count(last));
  const double steps = std::log(high / low) / std::log(factor);
  std::vector<Bytes> sizes;
  for (double s = low; s <= high && steps <= kMostSteps && sizes.size() <= kMostSizes; s *= factor)
    if (sizes.empty() || static_cast<Bytes>(s) != sizes.back()) sizes.push_back(static_cast<Bytes>(s));
  if (steps > kMostSteps || sizes.size() > kMostSizes)
    return invalid(fmt::format("{:g} gives more than {} sizes; use a larger factor", factor, kMostSizes),
                   {"", 0, 0, "-f"});
  return sizes;
}

Result<std::vector<topology::DeviceId>> place_ranks(const std::string& placement,
                                                    std::span<const topology::DeviceId> all, std::size_t ranks) {
  std::vector<topology::DeviceId> gpus(all.begin(), all.end());
  if (placement != "packed") {
    const std::size_t colon = std::min(placement.find(':'), placement.size());
    const std::string number = colon < placement.size() ? placement.substr(colon + 1) : "0";
    std::uint32_t seed = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), seed);
    if (placement.substr(0, colon) != "random" || error != std::errc() || end != number.data() + number.size())
      return invalid(fmt::format("there is no placement '{}'; use packed, random or random:SEED", placement),
                     {"", 0, 0, "--placement"});
    RandomStream random(seed, "placement");
    for (std::size_t i = gpus.size(); i > 1; --i) std::swap(gpus[i - 1], gpus[random.below(i)]);
  }
  gpus.resize(ranks);
  return gpus;
}

}  // namespace busbar::questions
