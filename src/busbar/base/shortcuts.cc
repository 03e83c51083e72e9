#include "busbar/base/shortcuts.h"

#include <iterator>

namespace busbar {

const char* name_of(Shortcut s) {
  static constexpr const char* kNames[] = {
      "equal components",
      "call images",
      "bundles",
      "pairs as one fluid",
      "pair classes",
      "hashed pairs",
      "equal channels",
      "communicators of equal groups",
      "fast memory",
      "known calls",
      "closed form for equal bytes",
      "lone fluid",
      "ends taken together",
      "idle links",
      "private links",
      "links in series",
      "rates after an end",
      "fluids of equal rate",
      "sends alike",
      "online rates",
      "runs alone",
      "kept contention",
      "kept splits",
      "rare splits",
      "whole passes",
      "cut time",
      "least time",
      "protocol bytes",
      "protocols by size",
      "bound engine",
      "work limit",
      "equal nodes",
      "equal calls",
      "channel bound",
  };
  static_assert(std::size(kNames) == kShortcutCount);
  return kNames[static_cast<std::size_t>(s)];
}

std::vector<std::string> Shortcuts::names_taken() const {
  std::vector<std::string> out;
  const std::uint64_t bits = taken ? taken->load() : 0;
  for (std::uint32_t s = 0; s < kShortcutCount; ++s)
    if ((bits & bit(static_cast<Shortcut>(s))) != 0) out.emplace_back(name_of(static_cast<Shortcut>(s)));
  return out;
}

}  // namespace busbar
