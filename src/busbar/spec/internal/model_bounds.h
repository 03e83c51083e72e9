// The largest numbers of a model file, far above any model. All their products stay below 2^63.
#pragma once

#include <cstdint>

namespace busbar::spec {

constexpr std::int64_t kMostLayers = 1 << 15, kMostHidden = 1 << 20, kMostWidth = 1 << 22, kMostHeads = 1 << 14;
constexpr std::int64_t kMostHeadWidth = 1 << 12, kMostVocabulary = 1 << 26, kMostExperts = 1 << 14;
constexpr std::int64_t kMostShared = 1 << 10, kMostRank = 1 << 20, kMostWindow = 1 << 30, kMostPredictors = 16;
constexpr std::int64_t kMostTower = std::int64_t{1} << 50;
constexpr std::int64_t kMostBatchTokens = std::int64_t{1} << 40;

}  // namespace busbar::spec
