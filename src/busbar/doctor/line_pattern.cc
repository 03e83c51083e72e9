#include "busbar/doctor/line_pattern.h"

#include <fmt/core.h>

#include <algorithm>

namespace busbar::doctor {
namespace {

bool blank(char c) { return c == ' ' || c == '\t'; }

std::size_t skip_blanks(std::string_view line, std::size_t at) {
  while (at < line.size() && blank(line[at])) ++at;
  return at;
}

/// The end of the literal at `at`; npos if the line has another text there.
std::size_t accept(std::string_view line, std::size_t at, std::string_view literal) {
  for (const char c : literal) {
    if (c == ' ') {
      if (at >= line.size() || !blank(line[at])) return line.npos;
      at = skip_blanks(line, at);
    } else {
      if (at >= line.size() || line[at] != c) return line.npos;
      ++at;
    }
  }
  return at;
}

/// The next blank, or npos. find_first_of searches its set once per character, which took a fifth of the time of a log.
std::size_t find_blank(std::string_view line, std::size_t from) {
  for (std::size_t at = from; at < line.size(); ++at)
    if (blank(line[at])) return at;
  return line.npos;
}

/// Where the literal next begins.
std::size_t find_literal(std::string_view line, std::size_t from, std::string_view literal) {
  for (std::size_t at = from; at < line.size(); ++at) {
    at = literal[0] == ' ' ? find_blank(line, at) : line.find(literal[0], at);
    if (at == line.npos) return at;
    if (accept(line, at, literal) != line.npos) return at;
  }
  return line.npos;
}

/// Without the signs that end a sentence.
std::string_view as_word(std::string_view text) {
  while (!text.empty() && std::string_view(".,;)\"'").find(text.back()) != text.npos) text.remove_suffix(1);
  return text;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (blank(text.back()) || text.back() == '\r')) text.remove_suffix(1);
  return text.substr(skip_blanks(text, 0));
}

}  // namespace

Result<LinePattern> LinePattern::read(const YamlNode& node) {
  BUSBAR_ASSIGN(const std::string text, node.as_string());
  Result<LinePattern> out = parse(text);
  if (!out.ok()) return node.error(out.error().message);
  return out;
}

Result<LinePattern> LinePattern::parse(std::string_view text) {
  LinePattern out;
  if (text.starts_with('^')) {
    out.anchored_ = true;
    text.remove_prefix(1);
  }
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    if (open > 0) out.pieces_.push_back({false, std::string(text.substr(0, open)), Target::kNone, false, false});
    text.remove_prefix(open);
    if (text.empty()) break;
    const std::size_t close = text.find('}');
    if (close == text.npos) return invalid("a '{' has no '}'");
    std::string_view name = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
    Piece piece{true, {}, Target::kNone, false, false};
    if (const std::size_t colon = name.find(':'); colon != name.npos) {
      piece.text = name.substr(colon + 1);
      piece.digits = piece.text == "#";
      if (piece.digits) piece.text.clear();
      name = name.substr(0, colon);
    }
    if (name.ends_with('*')) {
      piece.blanks = true;
      name.remove_suffix(1);
    }
    if (name == "subject")
      piece.target = Target::kSubject;
    else if (name == "value")
      piece.target = Target::kValue;
    else if (name == "host")
      piece.target = Target::kHost;
    else if (name != "-")
      return invalid(fmt::format("'{{{}}}' is not one of {{subject}}, {{value}}, {{host}} and {{-}}", name));
    if (!out.pieces_.empty() && out.pieces_.back().capture) return invalid("two captures need text between them");
    out.pieces_.push_back(std::move(piece));
  }
  if (out.pieces_.empty()) return invalid("the pattern is empty");
  std::string_view longest;
  for (const Piece& p : out.pieces_) {
    std::string_view rest = p.text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      if (end > longest.size()) longest = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  if (longest.size() >= kGram) out.gram_ = longest.substr(longest.size() - kGram);
  return out;
}

bool LinePattern::match_from(std::string_view line, std::size_t at, std::size_t first, std::size_t& end,
                             LineCaptures& out) const {
  for (std::size_t i = first; i < pieces_.size(); ++i) {
    const Piece& p = pieces_[i];
    if (!p.capture) {
      at = accept(line, at, p.text);
      if (at == line.npos) return false;
      continue;
    }
    if (!line.substr(at).starts_with(p.text)) return false;
    std::size_t stop = line.size();
    if (p.digits) {
      stop = std::min(line.find_first_not_of("0123456789", at), line.size());
    } else if (i + 1 < pieces_.size()) {
      stop = find_literal(line, at + p.text.size(), pieces_[i + 1].text);
      if (stop == line.npos) return false;
    } else if (!p.blanks) {
      stop = std::min({find_blank(line, at), line.find('\r', at), line.size()});
    }
    std::string_view taken = trim(line.substr(at, stop - at));
    if (!p.blanks && find_blank(taken, 0) != taken.npos) return false;
    if (i + 1 == pieces_.size() && !p.blanks) taken = as_word(taken);
    if (taken.empty()) return false;
    if (p.target == Target::kSubject) out.subject = taken;
    if (p.target == Target::kValue) out.value = taken;
    if (p.target == Target::kHost) out.host = taken;
    at = stop;
  }
  end = at;
  return true;
}

bool LinePattern::match(std::string_view line, std::size_t& from, LineCaptures& out) const {
  if (anchored_) {
    if (from > 0) return false;
    return match_from(line, skip_blanks(line, 0), 0, from, out) && (from = line.size(), true);
  }
  const Piece& head = pieces_[0];
  const bool by_word = head.capture && head.text.empty();  // a word before the first literal
  const std::string_view literal = by_word ? std::string_view(pieces_[1].text) : std::string_view(head.text);
  for (std::size_t at = from; (at = find_literal(line, at, literal)) != line.npos; ++at) {
    std::size_t begin = at, end = 0;
    while (by_word && begin > from && !blank(line[begin - 1])) --begin;
    if (by_word && begin == at) continue;
    if (!match_from(line, begin, 0, end, out)) continue;
    from = std::max(end, at + 1);
    return true;
  }
  return false;
}

}  // namespace busbar::doctor
