#include "busbar/formats/json_text.h"

#include <fmt/core.h>

#include <algorithm>

namespace busbar {
namespace {

Where place_of(std::string_view text, std::size_t byte, const std::string& name) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  return {name, static_cast<int>(line) + 1, static_cast<int>(before.size() - start) + 1, ""};
}

/// Depth of brackets outside strings: the parser's own stack is not to be trusted with it.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '[' || c == '{') && ++depth > kMostJsonDepth)
      return true;
    else if (!quoted && (c == ']' || c == '}'))
      --depth;
  }
  return false;
}

}  // namespace

Result<JsonTree> parse_json(std::string_view text, const std::string& name) {
  if (too_deep(text)) return invalid(fmt::format("nested deeper than {} levels", kMostJsonDepth), {name, 0, 0, ""});
  try {
    return JsonTree::parse(text.begin(), text.end());
  } catch (const JsonTree::parse_error& e) {
    const std::string what = e.what();  // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::size_t cause = what.find("syntax error");
    return invalid("not JSON: " + (cause == what.npos ? what : what.substr(cause)),
                   place_of(text, e.byte > 0 ? e.byte - 1 : 0, name));
  } catch (const JsonTree::exception& e) {  // a number that no double holds
    return invalid(fmt::format("not JSON that can be held: {}", e.what()), {name, 0, 0, ""});
  }
}

}  // namespace busbar
