// Text of YAML from values, for files that we write.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/yaml.h"

namespace busbar::spec {

/// A scalar as it reads back: plain if it cannot be taken for anything else, otherwise in double quotes.
std::string yaml_scalar(std::string_view value);
/// On one line: [a, b], {a: 1}.
std::string yaml_flow(const YamlNode& value);
/// "key: value  # comment", without a comment if it is empty.
std::string yaml_line(std::size_t indent, std::string_view text, std::string_view comment);

}  // namespace busbar::spec
