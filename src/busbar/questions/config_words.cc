#include "busbar/questions/internal/config_words.h"

#include <algorithm>
#include <iterator>

namespace busbar::questions {

bool is_true(const std::string& value) { return value == "true" || value == "True"; }

bool is_nothing(const std::string& value) {
  constexpr std::string_view kNothing[] = {"", "null", "~", "None", "false", "False", "0", "0.0", "-1"};
  return std::find(std::begin(kNothing), std::end(kNothing), value) != std::end(kNothing);
}

void add_scalars(const YamlNode& map, const std::string& prefix, Scalars& out) {
  for (std::size_t i = 0; i < map.size(); ++i) {
    const YamlNode value = map.item(i);
    if (value.kind() == YamlNode::Kind::kMap) add_scalars(value, prefix + map.key(i) + ".", out);
    if (value.kind() != YamlNode::Kind::kScalar) continue;
    const std::string text = value.scalar();
    const bool refers = text.find("${") != std::string::npos || text == "???";
    out[prefix + map.key(i)] = {text, value.where().line, refers ? text : "", 0};
  }
}

namespace {

/// Items of a list with blanks between; each item is a word or a number.
std::string list_text(const YamlNode& list) {
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) out += (i > 0 ? " " : "") + list.item(i).scalar();
  return out;
}

}  // namespace

void add_lists(const YamlNode& map, const std::string& prefix, Scalars& out) {
  for (std::size_t i = 0; i < map.size(); ++i) {
    const YamlNode value = map.item(i);
    if (value.kind() == YamlNode::Kind::kMap) add_lists(value, prefix + map.key(i) + ".", out);
    if (value.kind() == YamlNode::Kind::kSequence && value.size() > 0)
      out[prefix + map.key(i)] = {list_text(value), value.where().line, "", 0};
  }
}

std::string text_of(const Scalars& of, std::string_view key) {
  const auto at = of.find(std::string(key));
  return at == of.end() ? "" : at->second.text;
}

int line_of(const Scalars& of, std::string_view key) {
  const auto at = of.find(std::string(key));
  return at == of.end() ? 0 : at->second.line;
}

void FlagWords::add_with(std::string_view flag, const std::string& word, int line) {
  add(flag, line);
  out.push_back({word, line, "", 0});
}

void FlagWords::value(std::string_view flag, const Scalars& of, std::string_view key) {
  const auto at = of.find(std::string(key));
  if (at == of.end() || is_nothing(at->second.text)) return;
  add(flag, at->second.line);
  out.push_back(at->second);
}

}  // namespace busbar::questions
