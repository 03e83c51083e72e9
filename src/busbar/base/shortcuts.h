// Faster ways to an answer, each of which can be turned off: then the slow way behind it is taken.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace busbar {

/// The rows of docs/models/shortcuts.md that have a slower way behind them, in their order.
enum class Shortcut : std::uint8_t {
  kEqualComponents,
  kCallImages,
  kBundles,
  kPairsAsOneFluid,
  kPairClasses,
  kHashedPairs,
  kEqualChannels,
  kCommunicatorsOfEqualGroups,
  kFastMemory,
  kKnownCalls,
  kClosedForm,
  kLoneFluid,
  kEndsTakenTogether,
  kIdleLinks,
  kPrivateLinks,
  kLinksInSeries,
  kRatesAfterAnEnd,
  kFluidsOfEqualRate,
  kSendsAlike,
  kOnlineRates,
  kRunsAlone,
  kKeptContention,
  kKeptSplits,
  kRareSplits,
  kWholePasses,
  kCutTime,
  kLeastTime,
  kProtocolBytes,
  kProtocolsBySize,
  kBoundEngine,
  kWorkLimit,
  kEqualNodes,
  kEqualCalls,
  kChannelBound,
};
inline constexpr std::uint32_t kShortcutCount = static_cast<std::uint32_t>(Shortcut::kChannelBound) + 1;

/// "equal components": as the row of docs/models/shortcuts.md has it.
const char* name_of(Shortcut s);

/// Which shortcuts an answer may take, and which it took.
struct Shortcuts {
  std::uint64_t on = (std::uint64_t{1} << kShortcutCount) - 1;
  std::uint64_t pairs_apart = 1 << 14;  ///< so many equal pairs of a phase are a fluid each; above, one per group
  std::uint64_t fluids_apart = 32;      ///< so many fluids of a stage share links with other calls one by one
  double most_visits = 3e8;  ///< of a fluid to a link, some two seconds; with more, close ends are taken together
  std::shared_ptr<std::atomic<std::uint64_t>> taken{};  ///< noted here; null: not noted

  bool has(Shortcut s) const { return (on & bit(s)) != 0; }
  /// has(), and notes that the shortcut is taken.
  bool take(Shortcut s) const {
    if (has(s) && taken && (taken->load(std::memory_order_relaxed) & bit(s)) == 0) taken->fetch_or(bit(s));
    return has(s);
  }
  Shortcuts without(std::initializer_list<Shortcut> off) const {
    Shortcuts out = *this;
    for (const Shortcut s : off) out.on &= ~bit(s);
    return out;
  }
  static Shortcuts none() { return {.on = 0}; }
  /// Names of those in `taken`, in order.
  std::vector<std::string> names_taken() const;

 private:
  static constexpr std::uint64_t bit(Shortcut s) { return std::uint64_t{1} << static_cast<std::uint32_t>(s); }
};

}  // namespace busbar
