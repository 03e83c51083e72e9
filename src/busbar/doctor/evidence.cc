#include "busbar/doctor/evidence.h"

#include <charconv>

#include "busbar/base/utf8.h"

namespace busbar::doctor {
namespace {

/// At most `most` bytes, with a question mark for each byte that is no printable text.
std::string shown(std::string_view text, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < text.size() && out.size() < most;) {
    const Utf8Character c = character_at(text, i);
    if (!c.whole || commands_terminal(c.code_point))
      out += c.code_point == '\t' && c.whole ? ' ' : '?';
    else
      out += text.substr(i, c.length);
    i += c.length;
  }
  if (out.size() >= most) out += "...";
  return out;
}

}  // namespace

int Evidence::add_file(std::string name) {
  files_.push_back({std::move(name), 0, 0, {}, {}, {}});
  return static_cast<int>(files_.size()) - 1;
}

void Evidence::join(const std::vector<std::uint32_t>& line) {
  for (const std::uint32_t warning : line) {
    if (warning == kDropped || facts_[warning].name != kWarningFact || !facts_[warning].with.empty()) continue;
    for (const std::uint32_t other : line)
      if (other != warning && other != kDropped) facts_[warning].with.push_back(other);
  }
}

std::uint32_t Evidence::add(Fact fact) {
  key_.clear();
  for (const std::string* part : {&fact.name, &fact.subject, &fact.value, &fact.host}) {
    key_ += *part;
    key_ += '\n';
  }
  key_ += static_cast<char>(fact.file & 0xff);
  key_ += static_cast<char>((fact.file >> 8) & 0xff);
  if (const auto known = place_.find(std::string_view(key_)); known != place_.end()) {
    ++facts_[known->second].count;
    return known->second;
  }
  auto list = by_name_.find(fact.name);
  if (list == by_name_.end()) list = by_name_.emplace(fact.name, std::vector<std::uint32_t>()).first;
  if (list->second.size() >= kMostValues) {
    ++dropped_;
    return kDropped;
  }
  const auto at = static_cast<std::uint32_t>(facts_.size());
  place_.emplace(key_, at);
  list->second.push_back(at);
  fact.text = shown(fact.text, kLongestText);
  facts_.push_back(std::move(fact));
  return at;
}

const std::vector<std::uint32_t>& Evidence::named(std::string_view name) const {
  static const std::vector<std::uint32_t> kNothing;
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? kNothing : it->second;
}

std::optional<double> number_in(std::string_view value) {
  const std::size_t at = value.find_first_of("0123456789");
  if (at == value.npos) return std::nullopt;
  double out = 0;
  const bool negative = at > 0 && value[at - 1] == '-';
  const auto [end, code] =
      std::from_chars(value.data() + at, value.data() + value.size(), out, std::chars_format::fixed);
  if (code != std::errc()) return std::nullopt;
  return negative ? -out : out;
}

}  // namespace busbar::doctor
