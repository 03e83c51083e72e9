// Rates of sharing groups that were solved before: training steps repeat themselves, layer by layer.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "busbar/base/random.h"

namespace busbar::engine {

class KeptRates {
 public:
  /// Begins the key of a sharing group. Rates of another `version` of the stages are dropped.
  void begin(std::uint32_t version) {
    if (version != version_ || kept_ > kMostKept) rates_.clear(), kept_ = 0;
    version_ = version;
    key_.clear();
  }
  /// The next run of the group: its stage, and what each fluid has left.
  void add(std::uint32_t stage_id, std::span<const double> left) {
    key_.push_back(std::uint64_t{stage_id} << 32 | left.size());
    for (std::size_t f = 0; f < left.size(); ++f) {
      if (f % 64 == 0) key_.push_back(0);
      key_.back() |= std::uint64_t{left[f] > 0} << (f % 64);
    }
  }
  /// The rates of the group's open fluids; empty: to be solved and given to keep().
  std::vector<double>& of_group() {
    std::vector<double>& rates = rates_[key_];
    if (rates.empty()) kept_ += key_.size();
    return rates;
  }
  std::span<const double> keep(std::vector<double>& place, std::span<const double> solved) {
    kept_ += solved.size();
    place.assign(solved.begin(), solved.end());
    return place;
  }

 private:
  static constexpr std::size_t kMostKept = 1 << 21;  ///< words of keys and rates: 16 MiB
  struct Hash {
    std::size_t operator()(const std::vector<std::uint64_t>& key) const {
      std::uint64_t h = 0;
      for (const std::uint64_t word : key) h = mix64(h ^ word);
      return h;
    }
  };
  std::unordered_map<std::vector<std::uint64_t>, std::vector<double>, Hash> rates_;  ///< only looked up
  std::vector<std::uint64_t> key_;
  std::size_t kept_ = 0;
  std::uint32_t version_ = 0;
};

}  // namespace busbar::engine
