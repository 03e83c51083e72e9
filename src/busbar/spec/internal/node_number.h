// Small calculations with device numbers, as node files write them.
#pragma once

#include <cstdint>
#include <string_view>

#include "busbar/base/yaml.h"

namespace busbar::spec {

/// "8", "4x4x4", "4x4x4/4", "6/4": a product of whole numbers, then at most one divisor, rounded up.
Result<std::int64_t> as_count(const YamlNode& node, std::int64_t low, std::int64_t high);

/// "4x4x4" as its factors.
Result<std::vector<std::uint32_t>> as_shape(const YamlNode& node);

/// How `#` is computed with "*A" and "/B": floor(number x A / B).
struct NumberRule {
  std::uint32_t times = 1, over = 1;
  std::uint64_t operator()(std::uint64_t number) const { return number * times / over; }
};
/// Reads "*A/B", in which either part may be absent, at the front of `text` and removes it. `at`: place for errors.
Result<NumberRule> take_rule(std::string_view& text, const YamlNode& at);

}  // namespace busbar::spec
