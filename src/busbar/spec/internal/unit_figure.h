// A number with a unit that only catalogue figures have: "700W", "989TFLOP/s".
#pragma once

#include <fmt/core.h>

#include <charconv>
#include <string_view>
#include <system_error>

#include "busbar/base/yaml.h"

namespace busbar::spec {

/// The number before `unit`. Error: another unit, none, or not above 0.
inline Result<double> unit_figure(const YamlNode& node, std::string_view unit) {
  BUSBAR_ASSIGN(const std::string word, node.as_string());
  double value = 0;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  const std::string_view rest(end, static_cast<std::size_t>(word.data() + word.size() - end));
  if (code == std::errc() && rest == unit && value > 0) return value;
  return node.error(fmt::format("'{}' is not a number with the unit {}", word, unit));
}

}  // namespace busbar::spec
