#include "busbar/spec/internal/yaml_text.h"

#include <algorithm>

namespace busbar::spec {
namespace {

bool is_plain(std::string_view s) {
  const auto word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '/';
  };
  const auto inside = [&](char c) { return word(c) || c == '-' || c == ' ' || c == '+' || c == '(' || c == ')'; };
  return !s.empty() && word(s.front()) && s.back() != ' ' && std::all_of(s.begin(), s.end(), inside);
}

}  // namespace

std::string yaml_scalar(std::string_view s) {
  if (is_plain(s)) return std::string(s);
  std::string out = "\"";
  for (const char c : s) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string yaml_flow(const YamlNode& v) {
  if (v.kind() == YamlNode::Kind::kScalar) return yaml_scalar(v.scalar());
  if (v.kind() == YamlNode::Kind::kNull) return "null";
  const bool map = v.kind() == YamlNode::Kind::kMap;
  std::string out;
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (i > 0) out += ", ";
    if (map) out += yaml_scalar(v.key(i)) + ": ";
    out += yaml_flow(v.item(i));
  }
  return map ? "{" + out + "}" : "[" + out + "]";
}

std::string yaml_line(std::size_t indent, std::string_view text, std::string_view comment) {
  std::string out = std::string(indent, ' ') + std::string(text);
  if (!comment.empty()) out += "  # " + std::string(comment);
  return out + "\n";
}

}  // namespace busbar::spec
