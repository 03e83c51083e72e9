#include "busbar/solve/kept_fluids.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "busbar/base/id.h"

namespace busbar {
namespace {

constexpr std::size_t kBlock = 16;  // links

}  // namespace

KeptFluids::KeptFluids(const MaxMinSolver& reduced, std::span<const std::uint32_t> fluids, std::vector<double> caps,
                       std::vector<std::uint32_t>& number)
    : cap(std::move(caps)), by_cap(fluids.size()) {
  for (const std::uint32_t f : fluids) {
    for (const std::uint32_t row : reduced.rows_of(f)) {
      if (number[row] == kNone32) {
        number[row] = static_cast<std::uint32_t>(capacity.size());
        capacity.push_back(reduced.row_capacities()[row]);
      }
      links.values.push_back(number[row]);
    }
    links.close_row();
    weight.insert(weight.end(), reduced.weights_of(f).begin(), reduced.weights_of(f).end());
  }
  for (const std::uint32_t f : fluids)
    for (const std::uint32_t row : reduced.rows_of(f)) number[row] = kNone32;
  crossing.begin.assign(capacity.size() + 1, 0);
  for (const std::uint32_t l : links.values) ++crossing.begin[l + 1];
  std::partial_sum(crossing.begin.begin(), crossing.begin.end(), crossing.begin.begin());
  crossing.values.resize(links.values.size());
  std::vector<std::uint32_t> next(crossing.begin.begin(), crossing.begin.end() - 1);
  for (std::uint32_t f = 0; f < links.rows(); ++f)
    for (const std::uint32_t l : links.row(f)) crossing.values[next[l]++] = f;
  std::iota(by_cap.begin(), by_cap.end(), 0u);
  std::ranges::sort(by_cap, {}, [&](std::uint32_t f) { return std::pair(cap[f], f); });
}

std::span<const double> KeptRates::of(const KeptFluids& fluids, std::span<const std::uint8_t> open) {
  if (open.size() > kFew) {
    many_.clear();
    for (std::uint32_t f = 0; f < open.size(); ++f)
      if (open[f] != 0) many_.add_fluid(fluids.links.row(f), fluids.weights_of(f), fluids.cap[f]);
    many_.solve(fluids.capacity);
    return many_.rates();
  }
  of_few(fluids, open);
  out_.clear();
  for (std::uint32_t f = 0; f < open.size(); ++f)
    if (open[f] != 0) out_.push_back(rate_[f] < 0 ? INFINITY : rate_[f]);  // crosses nothing and has no cap
  return out_;
}

// HOT: bench after-load. As MaxMinSolver::fill(), step by step.
void KeptRates::of_few(const KeptFluids& fluids, std::span<const std::uint8_t> open) {
  residual_ = fluids.capacity;
  open_weight_.assign(residual_.size(), 0.0);
  open_.assign(residual_.size(), 0);
  block_.assign((residual_.size() + kBlock - 1) / kBlock, kUnknown);
  level_.assign(block_.size() * kBlock, INFINITY);
  rate_.assign(open.size(), 0.0);
  std::uint32_t unknown = 0;
  for (std::uint32_t f = 0; f < open.size(); ++f) {
    if (open[f] == 0) continue;
    rate_[f] = -1;
    ++unknown;
    for (std::uint32_t i = fluids.links.begin[f]; i < fluids.links.begin[f + 1]; ++i) {
      open_weight_[fluids.links.values[i]] += fluids.weight[i];
      ++open_[fluids.links.values[i]];
    }
  }
  for (std::size_t l = 0; l < open_.size(); ++l)
    if (open_[l] > 0) level_[l] = residual_[l] / open_weight_[l];
  auto next_cap = fluids.by_cap.begin();
  while (unknown > 0) {
    const auto [least, fullest] = least_level();
    while (next_cap != fluids.by_cap.end() && rate_[*next_cap] >= 0) ++next_cap;
    if (next_cap != fluids.by_cap.end() && fluids.cap[*next_cap] < least) {
      fix(fluids, *next_cap, fluids.cap[*next_cap]);
      --unknown;
      continue;
    }
    if (least == INFINITY) return;
    for (const std::uint32_t f : fluids.crossing.row(fullest))
      if (rate_[f] < 0) fix(fluids, f, least), --unknown;
  }
}

/// The first of the links with the least level.
std::pair<double, std::uint32_t> KeptRates::least_level() {
  double least = INFINITY;
  std::size_t at = 0;
  for (std::size_t b = 0; b < block_.size(); ++b) {
    const auto levels = level_.begin() + static_cast<std::ptrdiff_t>(b * kBlock);
    if (block_[b] == kUnknown) block_[b] = *std::min_element(levels, levels + kBlock);
    if (block_[b] < least) least = block_[b], at = b * kBlock;
  }
  while (least < INFINITY && level_[at] != least) ++at;
  return {least, static_cast<std::uint32_t>(at)};
}

void KeptRates::fix(const KeptFluids& fluids, std::uint32_t fluid, double rate) {
  rate_[fluid] = rate;
  for (std::uint32_t i = fluids.links.begin[fluid]; i < fluids.links.begin[fluid + 1]; ++i) {
    const std::uint32_t l = fluids.links.values[i];
    residual_[l] = std::max(0.0, residual_[l] - fluids.weight[i] * rate);  // rounding never makes a link negative
    open_weight_[l] -= fluids.weight[i];
    const double before = std::exchange(level_[l], --open_[l] > 0 ? residual_[l] / open_weight_[l] : INFINITY);
    double& least = block_[l / kBlock];
    least = before <= least ? kUnknown : std::min(least, level_[l]);  // levels only rise, but for rounding
  }
}

}  // namespace busbar
