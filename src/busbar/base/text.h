// What readers and messages do with words.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace busbar {

/// Whether all of `text` is one number. The number goes to `out`. `format`: what std::from_chars takes, such as a base.
template <typename T, typename... Format>
bool is_number(std::string_view text, T& out, Format... format) {
  const char* const last = text.data() + text.size();
  const auto [end, code] = std::from_chars(text.data(), last, out, format...);
  return code == std::errc() && end == last;
}

/// A to Z become a to z.
std::string lower(std::string_view text);

/// What stands before, between and after the separators: one piece at least. The pieces point into `text`.
std::vector<std::string_view> split_at(std::string_view text, char separator);

/// Adds a word to "ring, tree".
void append_word(std::string& list, std::string_view word);

/// "ring, tree, nvls".
std::string comma_list(const std::vector<std::string>& words);

/// "did you mean 'ring'?" with the nearest entry of `known`, or up to six with a part that begins so; else `otherwise`.
std::string suggestion(std::string_view word, const std::vector<std::string>& known, std::string otherwise);

}  // namespace busbar
