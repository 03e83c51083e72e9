#include "busbar/base/text.h"

#include <algorithm>

#include "busbar/base/quantity.h"

namespace busbar {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t end = text.find(separator); end != text.npos; end = text.find(separator)) {
    out.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  out.push_back(text);
  return out;
}

void append_word(std::string& list, std::string_view word) {
  if (!list.empty()) list += ", ";
  list += word;
}

std::string comma_list(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) append_word(out, w);
  return out;
}

namespace {

/// The entries of `known` in which a part between hyphens begins with `word`, the shortest first.
std::vector<std::string> with_part(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kShortest = 3;
  if (word.size() < kShortest) return {};
  const std::string part = "-" + lower(word);
  std::vector<std::string> out;
  for (const std::string& k : known)
    if (("-" + lower(k)).find(part) != std::string::npos) out.push_back(k);
  std::stable_sort(out.begin(), out.end(),
                   [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  return out;
}

}  // namespace

std::string suggestion(std::string_view word, const std::vector<std::string>& known, std::string otherwise) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> some = with_part(word, known);
  const std::string typo = nearest(word, known);
  if (some.empty() && typo.empty()) some = with_part(word.substr(0, word.find('-')), known);
  if (some.size() > 1 && (typo.empty() || edit_distance(word, typo) > 1)) {
    some.resize(std::min(some.size(), kMost));
    return "did you mean one of " + comma_list(some) + "?";
  }
  const std::string near = some.size() == 1 ? some.front() : typo;
  return near.empty() ? otherwise : "did you mean '" + near + "'?";
}

}  // namespace busbar
